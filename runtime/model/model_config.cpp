#include "runtime/model/model_config.hpp"

#include "runtime/model/config_sections.hpp"
#include "runtime/model/model_file.hpp"
#include "runtime/model/strict_json.hpp"
#include "runtime/model/unknown_family.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

namespace troupe {

namespace {

using nlohmann::json;

constexpr size_t config_bytes_max = 4 << 20;
constexpr double factor_max = 1e6;

std::string text_member(const json& root, const char* key) {
  auto x = root.find(key);
  return x != root.end() && x->is_string() ? x->get<std::string>() : "";
}

std::string first_architecture(const json& root) {
  auto x = root.find("architectures");
  if (x == root.end() || !x->is_array() || x->empty() ||
      !x->front().is_string())
    return "";
  return x->front().get<std::string>();
}

/// Settings that would change the numbers without changing any shape.
void refuse_unsupported(config_keys& keys, const model_family& family) {
  for (auto& [path, value] : family.only) {
    auto* node = keys.at_path(path);
    // A list has one for each layer.
    while (node && node->is_array() && !node->empty() &&
           std::all_of(node->begin(), node->end(),
                       [&](auto& x) { return x == node->front(); }))
      node = &node->front();
    auto wanted = std::visit([](auto& y) { return json(y); }, value);
    if (node && *node != wanted)
      keys.refuse(ec::unsupported, path,
                  fmt::format("expected {}, found {}, which is not built",
                              describe(wanted), describe(*node)));
  }
}

} // namespace

uint32_t model_config::moe_layers() const {
  return static_cast<uint32_t>(
    std::count_if(layers.begin(), layers.end(),
                  [](auto& x) { return x.ffn == ffn_kind::moe; }));
}

result<model_config> read_model_config(const std::string& folder,
                                       const family_catalog& families) {
  auto path = folder + "/config.json";
  auto text = read_json_text(path, config_bytes_max);
  if (!text)
    return tl::unexpected(std::move(text).error());
  return parse_model_config(*text, path, families);
}

result<model_config> parse_model_config(std::string_view text,
                                        const std::string& name,
                                        const family_catalog& families) {
  auto root = parse_json(text, name);
  if (!root)
    return tl::unexpected(std::move(root).error());
  if (!root->is_object())
    return fail(ec::bad_format, "{}: expected an object, found {}", name,
                describe(*root));
  auto architecture = first_architecture(*root);
  auto model_type = text_member(*root, "model_type");
  auto* family = families.find(architecture, model_type);
  if (!family)
    return fail(ec::unsupported,
                "{}: architectures: \"{}\" (model_type \"{}\") is no known "
                "family; {}",
                name, architecture.substr(0, 80), model_type.substr(0, 80),
                describe_unknown_family(*root, families));
  auto x = family->properties;
  x.family = family->name;
  x.architecture = std::move(architecture);
  config_keys keys{*root, *family, name};
  if (keys.is_nested())
    x.tensor_prefix = family->nested_prefix;
  read_model_sizes(keys, x);
  read_mixers(keys, *family, x);
  read_rope(keys, x);
  read_attention_scale(keys, *family, x);
  read_router(keys, x);
  read_ffn(keys, x);
  read_weight_format(keys, x);
  refuse_unsupported(keys, *family);
  read_layers(keys, *family, x);
  // Only now: scaling is by what the checkpoint promises.
  x.max_positions = std::min(x.max_positions, positions_exact);
  if (auto finished = keys.finish(); !finished)
    return tl::unexpected(std::move(finished).error());
  return x;
}

void read_model_sizes(config_keys& keys, model_config& x) {
  auto factor = [&](std::string_view key) {
    return keys.optional_real(key, 0.0, factor_max).value_or(1.0);
  };
  x.hidden_size = keys.whole("hidden_size", 1, size_max);
  x.num_layers = keys.whole("num_layers", 1, layers_max);
  x.vocab_size = keys.whole("vocab_size", 1, vocab_max);
  x.max_positions = keys.whole("max_positions", 1, positions_max);
  x.norm.eps = keys.real("norm_eps", 0.0, 0.1);
  x.tied_embeddings = keys.boolean("tied_embeddings", false);
  x.head_bias = keys.boolean("head_bias", false);
  x.residual_multiplier = factor("residual_multiplier");
  x.logits_divisor = factor("logits_divisor");
  x.embedding_multiplier = factor("embedding_multiplier");
  if (keys.boolean("embedding_times_root", false))
    x.embedding_multiplier *= std::sqrt(static_cast<double>(x.hidden_size));
  if (keys.good() && x.logits_divisor == 0)
    keys.refuse(ec::invalid_argument, "logits_divisor",
                "expected more than 0, found 0");
}

} // namespace troupe
