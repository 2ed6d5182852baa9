// See token_decoder.hpp.
#include "runtime/model/token_decoder.hpp"

#include "runtime/model/byte_level.hpp"
#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

result<token_decoder> token_decoder::from_json(const nlohmann::json& x) {
  auto list = components(x, "decoders");
  if (!list)
    return tl::unexpected(list.error());
  if (list->size() != 1)
    return fail(ec::unsupported, "expected ByteLevel alone, found {} decoders",
                list->size());
  auto type = component_type(*list->front());
  if (!type)
    return tl::unexpected(type.error());
  if (*type != "ByteLevel")
    return unsupported_component(*type);
  return token_decoder{};
}

std::string token_decoder::bytes_of(std::string_view spelling) const {
  return from_byte_level(spelling);
}

} // namespace troupe
