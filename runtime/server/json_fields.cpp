#include "runtime/server/json_fields.hpp"

#include <fmt/format.h>
#include <utility>

namespace troupe {

using json = nlohmann::json;

/// Says what a value is, shortly: `"abc"`, `-3`, `a list of 4`.
std::string in_short(const json& x) {
  if (x.is_object())
    return "an object";
  if (x.is_array())
    return fmt::format("a list of {}", x.size());
  auto text = x.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

api_error bad_request(std::string param, std::string message) {
  api_error result;
  result.status = 400;
  result.type = "invalid_request_error";
  result.code = to_string(ec::invalid_argument);
  result.message = std::move(message);
  result.param = std::move(param);
  return result;
}

field_reader::field_reader(const json& object) : object_(object) {
  // nop
}

const json* field_reader::find(const char* name) const {
  auto i = object_.find(name);
  return i == object_.end() || i->is_null() ? nullptr : &*i;
}

float field_reader::number(const char* name, float fallback,
                           range<float> allowed) {
  const auto* x = find(name);
  if (x == nullptr)
    return fallback;
  if (x->is_number()) {
    auto value = x->get<double>();
    if (value >= static_cast<double>(allowed.least) &&
        value <= static_cast<double>(allowed.most))
      return static_cast<float>(value);
  }
  refuse(name,
         fmt::format("a number from {} to {}", allowed.least, allowed.most),
         *x);
  return fallback;
}

uint64_t field_reader::integer(const char* name, uint64_t fallback,
                               range<uint64_t> allowed) {
  const auto* x = find(name);
  if (x == nullptr)
    return fallback;
  if (auto value = as_unsigned(*x, allowed))
    return *value;
  refuse(name,
         fmt::format("an integer from {} to {}", allowed.least, allowed.most),
         *x);
  return fallback;
}

bool field_reader::boolean(const char* name, bool fallback) {
  const auto* x = find(name);
  if (x == nullptr)
    return fallback;
  if (x->is_boolean())
    return x->get<bool>();
  refuse(name, "true or false", *x);
  return fallback;
}

void field_reader::refuse(std::string param, std::string_view expected,
                          const json& found) {
  if (!problem_)
    problem_ =
      bad_request(param, fmt::format("{}: expected {}, found {}", param,
                                     expected, in_short(found)));
}

void field_reader::refuse_with(api_error x) {
  if (!problem_)
    problem_ = std::move(x);
}

std::optional<uint64_t> field_reader::as_unsigned(const json& x,
                                                  range<uint64_t> allowed) {
  if (!x.is_number_unsigned())
    return std::nullopt;
  auto value = x.get<uint64_t>();
  if (value < allowed.least || value > allowed.most)
    return std::nullopt;
  return value;
}

} // namespace troupe
