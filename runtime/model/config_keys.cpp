#include "runtime/model/config_keys.hpp"

#include <algorithm>
#include <fmt/ranges.h>

namespace troupe {

namespace {

using nlohmann::json;

constexpr size_t faults_shown_max = 20;
constexpr size_t list_shown_max = 80;

/// A default as the file would have written it.
json as_json(const toml_scalar& x) {
  return std::visit([](auto& value) { return json(value); }, x);
}

std::optional<uint32_t> whole_of(const json& x, uint32_t min, uint32_t max) {
  if (!x.is_number_integer())
    return std::nullopt;
  // A negative number is not "unsigned" for the library; one above 2^63 is.
  if (!x.is_number_unsigned() && x.get<int64_t>() < 0)
    return std::nullopt;
  auto value = x.get<uint64_t>();
  if (value < min || value > max)
    return std::nullopt;
  return static_cast<uint32_t>(value);
}

std::string whole_range(uint32_t min, uint32_t max) {
  return fmt::format("a whole number from {} to {}", min, max);
}

std::string real_range(double min, double max) {
  return fmt::format("a number from {} to {}", min, max);
}

std::string describe_list(const json& x) {
  return x.is_array() ? x.dump().substr(0, list_shown_max) : describe(x);
}

/// A value written once for each layer, all the same, is that value.
const json& settled(const json& x) {
  if (!x.is_array() || x.empty() ||
      std::any_of(x.begin(), x.end(), [&](auto& y) { return y != x.front(); }))
    return x;
  return x.front();
}

const json* follow(const json& root, std::string_view path) {
  const json* node = &root;
  for (;;) {
    auto dot = path.find('.');
    auto step = std::string{path.substr(0, dot)};
    if (!node->is_object())
      return nullptr;
    auto member = node->find(step);
    if (member == node->end() || member->is_null())
      return nullptr;
    node = &*member;
    if (dot == std::string_view::npos)
      return node;
    path.remove_prefix(dot + 1);
  }
}

} // namespace

config_keys::config_keys(const json& root, const model_family& family,
                         const std::string& name)
  : root_(root), family_(family), name_(name) {
  if (family.nested_config.empty())
    return;
  auto* node = follow(root, family.nested_config);
  if (node && node->is_object())
    nested_ = node;
}

uint32_t config_keys::whole(std::string_view key, uint32_t min, uint32_t max) {
  auto faults = faults_.size();
  if (auto x = optional_whole(key, min, max))
    return *x;
  if (faults == faults_.size())
    refuse(ec::bad_format, key,
           fmt::format("missing; expected {}", whole_range(min, max)));
  return 0;
}

std::optional<uint32_t>
config_keys::optional_whole(std::string_view key, uint32_t min, uint32_t max) {
  auto node = value_of(key);
  if (!node)
    return std::nullopt;
  auto x = whole_of(*node, min, max);
  if (!x)
    refuse_type(key, whole_range(min, max), *node);
  return x;
}

double config_keys::real(std::string_view key, double min, double max) {
  auto faults = faults_.size();
  if (auto x = optional_real(key, min, max))
    return *x;
  if (faults == faults_.size())
    refuse(ec::bad_format, key,
           fmt::format("missing; expected {}", real_range(min, max)));
  return 0;
}

std::optional<double> config_keys::optional_real(std::string_view key,
                                                 double min, double max) {
  auto node = value_of(key);
  if (!node)
    return std::nullopt;
  if (node->is_number()) {
    auto x = node->get<double>();
    if (x >= min && x <= max)
      return x;
  }
  refuse_type(key, real_range(min, max), *node);
  return std::nullopt;
}

bool config_keys::boolean(std::string_view key, bool fallback) {
  auto node = value_of(key);
  if (!node)
    return fallback;
  if (node->is_boolean())
    return node->get<bool>();
  refuse_type(key, "true or false", *node);
  return false;
}

std::string config_keys::text(std::string_view key) {
  auto faults = faults_.size();
  if (auto x = optional_text(key))
    return *x;
  if (faults == faults_.size())
    refuse(ec::bad_format, key, "missing; expected a string");
  return "";
}

std::optional<std::string> config_keys::optional_text(std::string_view key) {
  auto node = value_of(key);
  if (!node)
    return std::nullopt;
  if (node->is_string())
    return node->get<std::string>();
  refuse_type(key, "a string", *node);
  return std::nullopt;
}

std::vector<uint32_t> config_keys::whole_list(std::string_view key,
                                              uint32_t max) {
  auto* node = find(key);
  if (!node)
    return {};
  std::vector<uint32_t> result;
  bool fits = node->is_array();
  if (fits)
    for (auto& item : *node) {
      auto x = whole_of(item, 0, max);
      fits = fits && x.has_value();
      result.push_back(x.value_or(0));
    }
  if (fits)
    return result;
  refuse(ec::invalid_argument, key,
         fmt::format("expected a list of whole numbers from 0 to {}, found {}",
                     max, describe_list(*node)));
  return {};
}

std::vector<std::string> config_keys::text_list(std::string_view key) {
  auto* node = find(key);
  if (!node)
    return {};
  std::vector<std::string> result;
  bool fits = node->is_array();
  if (fits)
    for (auto& item : *node) {
      fits = fits && item.is_string();
      if (item.is_string())
        result.push_back(item.get<std::string>());
    }
  if (fits)
    return result;
  refuse(
    ec::invalid_argument, key,
    fmt::format("expected a list of strings, found {}", describe_list(*node)));
  return {};
}

const json* config_keys::find(std::string_view key) {
  auto entry = family_.keys.find(std::string{key});
  if (entry == family_.keys.end())
    return nullptr;
  const json* first = nullptr;
  std::string_view first_path;
  for (auto& path : entry->second) {
    auto* node = at_path(path);
    if (!node)
      continue;
    if (!first) {
      first = node;
      first_path = path;
    } else if (settled(*first) != settled(*node)) {
      refuse(ec::invalid_argument, first_path,
             fmt::format("is {}, but {}, which means the same, is {}",
                         describe(*first), path, describe(*node)));
    }
  }
  return first;
}

const json* config_keys::at_path(std::string_view path) const {
  if (nested_)
    if (auto* node = follow(*nested_, path))
      return node;
  return follow(root_, path);
}

void config_keys::refuse(ec code, std::string_view key, std::string_view what) {
  faults_.push_back(
    {code, fmt::format("{}: {}: {}", name_, their_name(key), what)});
}

result<void> config_keys::finish() const {
  if (faults_.empty())
    return {};
  std::string text;
  for (size_t i = 0; i < faults_.size() && i < faults_shown_max; ++i)
    text += (i == 0 ? "" : "\n") + faults_[i].text;
  return fail(faults_.front().code, "{}", text);
}

std::optional<json> config_keys::value_of(std::string_view key) {
  auto* node = find(key);
  if (!node) {
    auto x = family_.defaults.find(std::string{key});
    if (x == family_.defaults.end())
      return std::nullopt;
    return as_json(x->second);
  }
  auto& value = settled(*node);
  if (!value.is_array() || value.empty())
    return value;
  refuse(ec::unsupported, key,
         fmt::format("expected the same value for all layers, found {}; values "
                     "by layer are not built",
                     describe_list(value)));
  return std::nullopt;
}

std::string config_keys::their_name(std::string_view key) const {
  auto entry = family_.keys.find(std::string{key});
  if (entry == family_.keys.end())
    return std::string{key};
  // The path that is there, or all that were looked for.
  for (auto& path : entry->second)
    if (at_path(path))
      return path;
  return fmt::format("{}", fmt::join(entry->second, " or "));
}

void config_keys::refuse_type(std::string_view key, std::string_view expected,
                              const json& found) {
  refuse(ec::invalid_argument, key,
         fmt::format("expected {}, found {}", expected, describe(found)));
}

} // namespace troupe
