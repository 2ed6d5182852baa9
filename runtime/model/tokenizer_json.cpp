// See tokenizer_json.hpp.
#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

using nlohmann::json;

const json& member_of(const json& object, const char* key) {
  static const json null;
  if (!object.is_object())
    return null;
  auto i = object.find(key);
  return i == object.end() ? null : *i;
}

result<std::string> component_type(const json& x) {
  if (!x.is_object())
    return fail(ec::bad_format, "expected an object with a type, found {}",
                x.type_name());
  return text_member(x, "type");
}

result<std::string> text_member(const json& object, const char* key) {
  const auto& x = member_of(object, key);
  if (!x.is_string())
    return fail(ec::bad_format, "{}: expected a string, found {}", key,
                x.type_name());
  return x.get<std::string>();
}

result<bool> flag_member(const json& object, const char* key, bool fallback) {
  const auto& x = member_of(object, key);
  if (x.is_null())
    return fallback;
  if (!x.is_boolean())
    return fail(ec::bad_format, "{}: expected true or false, found {}", key,
                x.type_name());
  return x.get<bool>();
}

result<token_id> to_token_id(const json& x) {
  if (!x.is_number_integer())
    return fail(ec::bad_format, "expected a token id, found {}", x.type_name());
  // A number above the signed range is kept unsigned.
  if (x.is_number_unsigned()
        ? x.get<uint64_t>() >= static_cast<uint64_t>(token_id_limit)
        : x.get<int64_t>() < 0)
    return fail(ec::bad_format, "expected a token id from 0 to {}, found {}",
                token_id_limit - 1, x.dump());
  return x.get<token_id>();
}

result<std::vector<const json*>> components(const json& x, const char* key) {
  constexpr size_t components_max = 64;
  std::vector<const json*> out;
  if (x.is_null())
    return out;
  auto type = component_type(x);
  if (!type)
    return tl::unexpected(type.error());
  if (*type != "Sequence") {
    out.push_back(&x);
    return out;
  }
  const auto& list = member_of(x, key);
  if (!list.is_array())
    return fail(ec::bad_format, "Sequence: {}: expected a list, found {}", key,
                list.type_name());
  if (list.size() > components_max)
    return fail(ec::bad_format,
                "Sequence: {}: has {} members, at most {} are "
                "accepted",
                key, list.size(), components_max);
  for (const auto& one : list)
    out.push_back(&one);
  return out;
}

tl::unexpected<error> unsupported_component(std::string_view what) {
  return fail(ec::unsupported, "{}: this tokenizer component is not supported",
              what);
}

} // namespace troupe
