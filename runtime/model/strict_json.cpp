#include "runtime/model/strict_json.hpp"

#include <unordered_set>
#include <vector>

namespace troupe {

namespace {

using nlohmann::json;

/// Walks the text once before anything is built: the parser itself would
/// silently keep the last of two equal keys, and has no limit of depth.
struct json_checker : nlohmann::json_sax<json> {
  std::string problem;
  std::vector<std::unordered_set<std::string>> keys; ///< One per open object.
  size_t depth = 0;

  bool open() {
    if (++depth <= json_depth_max)
      return true;
    problem = fmt::format("nested deeper than {}", json_depth_max);
    return false;
  }

  bool null() override {
    return true;
  }
  bool boolean(bool) override {
    return true;
  }
  bool number_integer(number_integer_t) override {
    return true;
  }
  bool number_unsigned(number_unsigned_t) override {
    return true;
  }
  bool number_float(number_float_t, const string_t&) override {
    return true;
  }
  bool string(string_t&) override {
    return true;
  }
  bool binary(binary_t&) override {
    return true;
  }
  bool start_object(size_t) override {
    keys.emplace_back();
    return open();
  }
  bool key(string_t& name) override {
    if (keys.back().insert(name).second)
      return true;
    problem = fmt::format("the key {} stands twice in one object",
                          describe(json(name)));
    return false;
  }
  bool end_object() override {
    keys.pop_back();
    --depth;
    return true;
  }
  bool start_array(size_t) override {
    return open();
  }
  bool end_array() override {
    --depth;
    return true;
  }
  bool parse_error(size_t byte, const std::string&,
                   const json::exception& x) override {
    // The library's text begins "[json.exception.parse_error.101] ".
    std::string_view text = x.what();
    auto end = text.find("] ");
    if (end != std::string_view::npos)
      text.remove_prefix(end + 2);
    problem = fmt::format("at byte {}: {}", byte, text.substr(0, 200));
    return false;
  }
};

} // namespace

result<json> parse_json(std::string_view text, const std::string& name) {
  json_checker checker;
  if (!json::sax_parse(text, &checker))
    return fail(ec::bad_format, "{}: not valid JSON: {}", name,
                checker.problem);
  return json::parse(text, nullptr, false);
}

std::string describe(const json& x) {
  if (x.is_object())
    return "an object";
  if (x.is_array())
    return "a list";
  // `replace`: a message must be UTF-8 whatever the file holds.
  auto text = x.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() <= 80)
    return text;
  return text.substr(0, 76) + "...";
}

} // namespace troupe
