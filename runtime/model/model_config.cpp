#include "runtime/model/model_config.hpp"

#include "config/text_file.hpp"
#include "config/toml_reader.hpp"
#include "runtime/model/config_keys.hpp"
#include "runtime/model/model_family.hpp"
#include "runtime/model/strict_json.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

namespace troupe {

namespace {

using nlohmann::json;

// Generous bounds: nothing known comes near them, and products of any three
// sizes fit 64 bits.
constexpr size_t config_bytes_max = 4 << 20;
constexpr uint32_t size_max = 1u << 20;
constexpr uint32_t layers_max = 4096;
constexpr uint32_t heads_max = 4096;
constexpr uint32_t head_dim_max = 4096;
constexpr uint32_t experts_max = 65536;
constexpr uint32_t vocab_max = 1u << 24;
constexpr uint32_t positions_max = 1u << 28;

/// As config.json writes them. All are gated: f(gate(x)) * up(x).
constexpr enum_name<kernels::activation_kind> activation_names[]{
  {"silu", kernels::activation_kind::silu},
  {"swish", kernels::activation_kind::silu}};

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

void read_attention(config_keys& keys, const model_family& family,
                    model_config& x) {
  auto& a = x.attention;
  a.heads = keys.whole("heads", 1, heads_max);
  a.kv_heads = keys.optional_whole("kv_heads", 1, heads_max).value_or(a.heads);
  if (a.kv_heads != 0 && a.heads % a.kv_heads != 0)
    keys.refuse(ec::invalid_argument, "heads",
                fmt::format("expected a multiple of the {} key/value heads, "
                            "found {}",
                            a.kv_heads, a.heads));
  auto head_dim = keys.optional_whole("head_dim", 1, head_dim_max);
  if (!head_dim && a.heads != 0) {
    if (x.hidden_size % a.heads != 0)
      keys.refuse(ec::invalid_argument, "hidden_size",
                  fmt::format("expected a multiple of the {} heads (there is "
                              "no head_dim), found {}",
                              a.heads, x.hidden_size));
    head_dim = x.hidden_size / a.heads;
  }
  a.head_dim = head_dim.value_or(0);
  if (a.head_dim != 0)
    a.scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  a.qk_norm.kind = keys.boolean("qk_norm", family.qk_norm)
                     ? qk_norm_kind::per_head
                     : qk_norm_kind::none;
  a.qkv_bias = keys.boolean("qkv_bias", family.qkv_bias);
  a.output_bias = keys.boolean("output_bias", family.output_bias);
}

/// RoPE that is stretched for longer texts changes every angle: refuse it
/// rather than answer a little wrong.
void refuse_rope_scaling(config_keys& keys) {
  auto* scaling = keys.find("rope_scaling");
  if (!scaling)
    return;
  if (!scaling->is_object()) {
    keys.refuse(
      ec::bad_format, "rope_scaling",
      fmt::format("expected an object, found {}", describe(*scaling)));
    return;
  }
  auto kind = text_member(*scaling, "rope_type");
  if (kind.empty())
    kind = text_member(*scaling, "type");
  // Without a type, only an object that merely holds theta is harmless.
  bool named = scaling->contains("rope_type") || scaling->contains("type");
  if (kind == "default" || (!named && !scaling->contains("factor")))
    return;
  keys.refuse(ec::unsupported, "rope_scaling",
              fmt::format("expected no scaling or type \"default\", found "
                          "type \"{}\", which is not built",
                          kind));
}

void read_rope(config_keys& keys, const model_family& family, model_config& x) {
  auto& rope = x.attention.rope;
  rope.pairs = family.rope;
  rope.theta = keys.real("rope_theta", 1.0, 1e12);
  refuse_rope_scaling(keys);
  auto factor = keys.real("partial_rotary_factor", 0.0, 1.0);
  auto dims = factor * x.attention.head_dim;
  rope.rotary_dim = static_cast<uint32_t>(std::floor(dims));
  if (keys.good() && (rope.rotary_dim == 0 || rope.rotary_dim % 2 != 0))
    keys.refuse(ec::invalid_argument, "head_dim",
                fmt::format("expected an even number of rotating dimensions "
                            "per head, found {}",
                            rope.rotary_dim));
}

void read_router(config_keys& keys, const model_family& family,
                 model_config& x) {
  auto& router = x.router;
  router.num_experts = keys.whole("num_experts", 1, experts_max);
  router.top_k = keys.whole("top_k", 1, experts_max);
  router.score = family.score;
  router.normalize = keys.boolean("normalize", family.normalize)
                       ? kernels::router_normalize::sum_to_one
                       : kernels::router_normalize::no;
  if (keys.good() && router.top_k > router.num_experts)
    keys.refuse(ec::invalid_argument, "top_k",
                fmt::format("expected at most the {} experts, found {}",
                            router.num_experts, router.top_k));
}

void read_layers(config_keys& keys, mixer_kind mixer, model_config& x) {
  auto dense = keys.whole_list("dense_layers", layers_max);
  auto step = keys.optional_whole("sparse_step", 1, layers_max).value_or(1);
  for (auto layer : dense)
    if (keys.good() && layer >= x.num_layers)
      keys.refuse(
        ec::invalid_argument, "dense_layers",
        fmt::format("expected layers below {}, found {}", x.num_layers, layer));
  if (!keys.good())
    return;
  for (uint32_t i = 0; i < x.num_layers; ++i) {
    bool sparse = (i + 1) % step == 0 &&
                  std::find(dense.begin(), dense.end(), i) == dense.end();
    auto& layer = x.layers.emplace_back();
    layer.mixer = mixer;
    layer.ffn = sparse ? ffn_kind::moe : ffn_kind::dense;
    layer.ffn_size = sparse ? x.ffn.expert_size : x.ffn.dense_size;
  }
  if (x.moe_layers() != x.num_layers && x.ffn.dense_size == 0)
    keys.refuse(ec::bad_format, "dense_size",
                "missing; the model has dense layers");
}

void read_ffn(config_keys& keys, model_config& x) {
  auto name = keys.text("activation");
  auto known =
    std::find_if(std::begin(activation_names), std::end(activation_names),
                 [&](auto& y) { return y.name == name; });
  if (known != std::end(activation_names))
    x.ffn.activation.kind = known->value;
  else if (!name.empty())
    keys.refuse(ec::unsupported, "activation",
                fmt::format("expected \"silu\", found \"{}\", which is not "
                            "built",
                            name));
  x.ffn.expert_size = keys.whole("expert_size", 1, size_max);
  x.ffn.dense_size = keys.optional_whole("dense_size", 0, size_max).value_or(0);
}

/// Settings that would change the numbers without changing any shape.
void refuse_unsupported(config_keys& keys, const model_family& family,
                        uint32_t num_layers) {
  for (auto& [path, value] : family.only) {
    auto* node = keys.at_path(path);
    auto wanted = std::visit([](auto& y) { return json(y); }, value);
    if (node && *node != wanted)
      keys.refuse(ec::unsupported, path,
                  fmt::format("expected {}, found {}, which is not built",
                              describe(wanted), describe(*node)));
  }
  if (keys.at_path("quantization_config"))
    keys.refuse(ec::unsupported, "quantization_config",
                "expected weights in bf16 or f32; quantised ones are not "
                "built");
  auto* types = keys.find("layer_types");
  if (!types)
    return;
  bool fits = types->is_array() && types->size() == num_layers;
  for (auto& type : *types)
    fits =
      fits && type.is_string() && type.get<std::string>() == "full_attention";
  if (!fits)
    keys.refuse(ec::unsupported, "layer_types",
                fmt::format("expected \"full_attention\" for each of the {} "
                            "layers, found {}",
                            num_layers, types->dump().substr(0, 80)));
}

void read_sizes(config_keys& keys, model_config& x) {
  x.hidden_size = keys.whole("hidden_size", 1, size_max);
  x.num_layers = keys.whole("num_layers", 1, layers_max);
  x.vocab_size = keys.whole("vocab_size", 1, vocab_max);
  x.max_positions = keys.whole("max_positions", 1, positions_max);
  x.norm.eps = keys.real("norm_eps", 0.0, 0.1);
  x.tied_embeddings = keys.boolean("tied_embeddings", false);
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
  auto text = read_text_file(path, config_bytes_max);
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
  model_config x;
  x.architecture = first_architecture(*root);
  auto model_type = text_member(*root, "model_type");
  auto* family = families.find(x.architecture, model_type);
  if (!family)
    return fail(ec::unsupported,
                "{}: architectures: \"{}\" (model_type \"{}\") is no known "
                "family; known: {}",
                name, x.architecture.substr(0, 80), model_type.substr(0, 80),
                fmt::join(families.names(), ", "));
  x.family = family->name;
  config_keys keys{*root, *family, name};
  read_sizes(keys, x);
  read_attention(keys, *family, x);
  read_rope(keys, *family, x);
  read_router(keys, *family, x);
  read_ffn(keys, x);
  refuse_unsupported(keys, *family, x.num_layers);
  read_layers(keys, family->mixer, x);
  if (auto finished = keys.finish(); !finished)
    return tl::unexpected(std::move(finished).error());
  return x;
}

} // namespace troupe
