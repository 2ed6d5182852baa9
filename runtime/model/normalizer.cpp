// See normalizer.hpp.
#include "runtime/model/normalizer.hpp"

#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

result<normalizer> normalizer::from_json(const nlohmann::json& x) {
  auto list = components(x, "normalizers");
  if (!list)
    return tl::unexpected(list.error());
  normalizer out;
  for (const auto* one : *list) {
    auto type = component_type(*one);
    if (!type)
      return tl::unexpected(type.error());
    if (*type == "NFC")
      out.forms_.push_back(normal_form::nfc);
    else if (*type == "NFD")
      out.forms_.push_back(normal_form::nfd);
    else if (*type == "NFKC")
      out.forms_.push_back(normal_form::nfkc);
    else if (*type == "NFKD")
      out.forms_.push_back(normal_form::nfkd);
    else
      return unsupported_component(*type);
  }
  return out;
}

bool normalizer::keeps(std::string_view text) const {
  return forms_.empty() || is_surely_normal(text);
}

result<std::string> normalizer::apply(std::string_view text) const {
  std::string out{text};
  for (auto form : forms_) {
    auto next = normalize(out, form);
    if (!next)
      return next;
    out = std::move(*next);
  }
  return out;
}

} // namespace troupe
