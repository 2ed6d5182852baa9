#include "runtime/model/unknown_family.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>

namespace troupe {

namespace {

/// Settings that change no number of the forward pass.
constexpr std::string_view harmless[]{"_name_or_path",        "architectures",
                                      "attention_dropout",    "auto_map",
                                      "bos_token_id",         "dtype",
                                      "eos_token_id",         "hidden_dropout",
                                      "initializer_range",    "model_type",
                                      "output_router_logits", "pad_token_id",
                                      "router_aux_loss_coef", "torch_dtype",
                                      "transformers_version", "use_cache"};

/// Top-level keys of config.json that a family reads.
std::set<std::string> keys_read(const model_family& x) {
  std::set<std::string> out;
  auto add = [&](const std::string& path) {
    out.insert(path.substr(0, path.find('.')));
  };
  for (auto& [name, paths] : x.keys)
    std::for_each(paths.begin(), paths.end(), add);
  for (auto& [path, value] : x.only)
    add(path);
  return out;
}

struct nearness {
  std::string family;
  size_t known = 0;
  std::string first_unknown;
};

nearness compare(const nlohmann::json& root, const model_family& family) {
  auto read = keys_read(family);
  // The text model of a larger one has an object of its own.
  auto nested = root.find(family.nested_config);
  auto& settings = nested != root.end() && nested->is_object() ? *nested : root;
  nearness out{family.name, 0, {}};
  for (auto& [key, value] : settings.items()) {
    if (std::find(std::begin(harmless), std::end(harmless), key) !=
        std::end(harmless))
      continue;
    if (read.count(key) > 0)
      ++out.known;
    else if (out.first_unknown.empty())
      out.first_unknown = key.substr(0, 80);
  }
  return out;
}

} // namespace

std::string describe_unknown_family(const nlohmann::json& root,
                                    const family_catalog& families) {
  auto names = families.names();
  auto text = fmt::format("known: {}", fmt::join(names, ", "));
  nearness best;
  for (auto& name : names) {
    auto x = compare(root, *families.find(name));
    if (x.known > best.known)
      best = std::move(x);
  }
  if (best.known == 0)
    return text;
  text += fmt::format("; nearest by its settings: {}", best.family);
  if (!best.first_unknown.empty())
    text += fmt::format(", which does not know {}", best.first_unknown);
  return text;
}

} // namespace troupe
