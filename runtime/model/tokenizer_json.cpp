// See tokenizer_json.hpp.
#include "runtime/model/tokenizer_json.hpp"

#include "runtime/model/utf8.hpp"

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

result<std::string> character_member(const json& object, const char* key) {
  auto text = text_member(object, key);
  if (!text)
    return text;
  if (text->empty() || first_utf8_piece(*text).length != text->size())
    return fail(ec::bad_format, "{}: expected one character, found {} bytes",
                key, text->size());
  return text;
}

result<size_t> count_member(const json& object, const char* key, size_t most) {
  const auto& x = member_of(object, key);
  if (!x.is_number_unsigned() || x.get<uint64_t>() > most)
    return fail(ec::bad_format, "{}: expected a number from 0 to {}, found {}",
                key, most, x.dump());
  return x.get<size_t>();
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

namespace {

constexpr size_t components_max = 64;

/// The depth of the JSON text bounds the depth of this.
result<void> append_components(const json& x, const char* key,
                               std::vector<const json*>& out) {
  auto type = component_type(x);
  if (!type)
    return tl::unexpected(type.error());
  if (*type != "Sequence") {
    if (out.size() == components_max)
      return fail(ec::bad_format, "{}: has more than {} members", key,
                  components_max);
    out.push_back(&x);
    return {};
  }
  const auto& list = member_of(x, key);
  if (!list.is_array())
    return fail(ec::bad_format, "Sequence: {}: expected a list, found {}", key,
                list.type_name());
  for (const auto& one : list)
    if (auto done = append_components(one, key, out); !done)
      return done;
  return {};
}

} // namespace

result<std::vector<const json*>> components(const json& x, const char* key) {
  std::vector<const json*> out;
  if (x.is_null())
    return out;
  if (auto done = append_components(x, key, out); !done)
    return tl::unexpected(done.error());
  return out;
}

tl::unexpected<error> unsupported_component(std::string_view what) {
  return fail(ec::unsupported, "{}: this tokenizer component is not supported",
              what);
}

} // namespace troupe
