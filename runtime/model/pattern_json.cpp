// See pattern_json.hpp.
#include "runtime/model/pattern_json.hpp"

#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

result<text_pattern> pattern_member(const nlohmann::json& object) {
  const auto& pattern = member_of(object, "pattern");
  if (member_of(pattern, "Regex").is_string()) {
    auto out = regex::compile(pattern["Regex"].get_ref<const std::string&>());
    if (!out)
      return tl::unexpected(std::move(out.error()));
    return text_pattern{std::move(*out)};
  }
  if (member_of(pattern, "String").is_string()) {
    auto text = pattern["String"].get<std::string>();
    if (text.empty() || text.size() > regex::pattern_bytes_max)
      return fail(ec::bad_format,
                  "pattern: String: has {} bytes, expected 1 to {}",
                  text.size(), regex::pattern_bytes_max);
    return text_pattern{std::move(text)};
  }
  return fail(ec::bad_format,
              "pattern: expected an object with a string Regex or String");
}

} // namespace troupe
