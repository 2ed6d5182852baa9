// What each layer is. config.json lists it, or has a rule; the rules that a
// family's file gives a key for apply, all of them.
#include "runtime/model/config_sections.hpp"
#include "runtime/model/property_names.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <optional>

namespace troupe {

namespace {

/// Sparse or dense.
class ffn_rule {
public:
  ffn_rule(config_keys& keys, uint32_t layers) : layers_(layers) {
    dense_ = listed(keys, "dense_layers");
    if (keys.find("sparse_layers"))
      sparse_ = listed(keys, "sparse_layers");
    read_types(keys);
    step_ = keys.optional_whole("sparse_step", 1, layers_max).value_or(1);
    period_ = keys.optional_whole("sparse_period", 1, layers_max).value_or(1);
    first_ = keys.optional_whole("dense_first", 0, layers_max).value_or(0);
    auto* last = keys.find("sparse_last");
    if (!last || *last != -1)
      last_ =
        keys.optional_whole("sparse_last", 0, layers_max).value_or(layers_max);
  }

  bool is_sparse(uint32_t layer) const {
    auto has = [&](auto& list) {
      return std::find(list.begin(), list.end(), layer) != list.end();
    };
    if (!types_.empty())
      return types_[layer] == "sparse";
    if (sparse_)
      return has(*sparse_);
    return layer >= first_ && layer <= last_ && (layer + 1) % step_ == 0 &&
           layer % period_ == 0 && !has(dense_);
  }

private:
  std::vector<uint32_t> listed(config_keys& keys, std::string_view key) {
    auto list = keys.whole_list(key, layers_max);
    for (auto layer : list)
      if (layer >= layers_)
        keys.refuse(
          ec::invalid_argument, key,
          fmt::format("expected layers below {}, found {}", layers_, layer));
    return list;
  }

  void read_types(config_keys& keys) {
    types_ = keys.text_list("ffn_types");
    bool fits = types_.empty() || types_.size() == layers_;
    for (auto& x : types_)
      fits = fits && (x == "dense" || x == "sparse");
    if (!fits)
      keys.refuse(
        ec::unsupported, "ffn_types",
        fmt::format("expected \"dense\" or \"sparse\" for each of the "
                    "{} layers",
                    layers_));
  }

  uint32_t layers_;
  std::vector<uint32_t> dense_;
  std::optional<std::vector<uint32_t>> sparse_;
  std::vector<std::string> types_;
  uint32_t step_ = 1;
  uint32_t period_ = 1;
  uint32_t first_ = 0;
  uint32_t last_ = layers_max;
};

/// Which layers are full, sliding, ... and which turn by position.
class mixer_rule {
public:
  mixer_rule(config_keys& keys, const model_family& family, uint32_t layers)
    : rules_(family.layers), layers_(layers) {
    rope_layers_ = keys.whole_list("rope_layers", 1);
    if (!rope_layers_.empty() && rope_layers_.size() != layers)
      keys.refuse(ec::invalid_argument, "rope_layers",
                  fmt::format("expected a number for each of the {} layers, "
                              "found {}",
                              layers, rope_layers_.size()));
    no_rope_every_ = keys.optional_whole("no_rope_every", 1, layers_max);
    read_types(keys);
    if (types_.empty()) {
      full_every_ = keys.optional_whole("full_every", 1, layers_max);
      from_ = keys.optional_whole("window_from", 0, layers_max).value_or(0);
    }
  }

  layer_type type_of(uint32_t layer) const {
    if (!types_.empty())
      return types_[layer];
    if (rules_.rope == rope_rule::listed && !is_listed(layer))
      return layer_type::full;
    if ((full_every_ && (layer + 1) % *full_every_ == 0) || layer < from_)
      return layer_type::full;
    return rules_.between;
  }

  bool has_rope(uint32_t layer) const {
    switch (rules_.rope) {
    case rope_rule::all:
      return true;
    case rope_rule::sliding:
      return type_of(layer) == layer_type::sliding;
    case rope_rule::listed:
      return is_listed(layer);
    }
    return true;
  }

  /// Whether config.json itself says what the layers are.
  bool is_explicit() const {
    return !types_.empty();
  }

private:
  bool is_listed(uint32_t layer) const {
    if (!rope_layers_.empty())
      return rope_layers_[layer] != 0;
    return !no_rope_every_ || (layer + 1) % *no_rope_every_ != 0;
  }

  void read_types(config_keys& keys) {
    auto names = keys.text_list("layer_types");
    if (names.empty())
      return;
    if (names.size() != layers_) {
      keys.refuse(ec::invalid_argument, "layer_types",
                  fmt::format("expected one for each of the {} layers, found "
                              "{}",
                              layers_, names.size()));
      return;
    }
    for (auto& name : names) {
      auto known =
        std::find_if(std::begin(layer_type_names), std::end(layer_type_names),
                     [&](auto& x) { return x.name == name; });
      if (known == std::end(layer_type_names)) {
        keys.refuse(ec::unsupported, "layer_types",
                    fmt::format("\"{}\" is not built", name.substr(0, 80)));
        return;
      }
      types_.push_back(known->value);
    }
  }

  layer_rules rules_;
  uint32_t layers_;
  std::vector<layer_type> types_;
  std::vector<uint32_t> rope_layers_;
  std::optional<uint32_t> no_rope_every_;
  std::optional<uint32_t> full_every_;
  uint32_t from_ = 0;
};

mixer_kind mixer_of(layer_type type, const model_family& family) {
  switch (type) {
  case layer_type::linear:
    return mixer_kind::gated_delta;
  case layer_type::conv:
    return mixer_kind::short_conv;
  default:
    return family.mixer;
  }
}

/// A mixer whose sizes config.json lacks cannot be built.
void check_mixers(config_keys& keys, const model_config& x) {
  auto uses = [&](mixer_kind kind) {
    return std::any_of(x.layers.begin(), x.layers.end(),
                       [&](auto& layer) { return layer.mixer == kind; });
  };
  auto demand = [&](std::string_view key, uint32_t size) {
    if (size == 0)
      keys.refuse(ec::bad_format, key, "missing; the model has such layers");
  };
  if (uses(mixer_kind::short_conv))
    demand("conv_kernel", x.short_conv.kernel);
  if (!uses(mixer_kind::gated_delta))
    return;
  demand("delta_kernel", x.gated_delta.kernel);
  demand("delta_key_heads", x.gated_delta.key_heads);
  demand("delta_value_heads", x.gated_delta.value_heads);
  demand("delta_key_dim", x.gated_delta.key_dim);
  demand("delta_value_dim", x.gated_delta.value_dim);
}

} // namespace

void read_layers(config_keys& keys, const model_family& family,
                 model_config& x) {
  const ffn_rule ffn{keys, x.num_layers};
  const mixer_rule mixers{keys, family, x.num_layers};
  // 0 is how some write that there is none.
  auto window = keys.optional_whole("window", 0, positions_max).value_or(0);
  auto chunk = keys.optional_whole("chunk", 0, positions_max).value_or(0);
  if (!keys.good())
    return;
  bool slides = family.layers.rope == rope_rule::sliding;
  for (uint32_t i = 0; i < x.num_layers; ++i) {
    auto& layer = x.layers.emplace_back();
    auto type = mixers.type_of(i);
    layer.mixer = mixer_of(type, family);
    layer.ffn = ffn.is_sparse(i) ? ffn_kind::moe : ffn_kind::dense;
    layer.ffn_size =
      layer.ffn == ffn_kind::moe ? x.ffn.expert_size : x.ffn.dense_size;
    layer.rope = mixers.has_rope(i);
    layer.temperature = !layer.rope && x.attention.temperature_scale != 0;
    if (type == layer_type::sliding)
      layer.window = window;
    if (type == layer_type::chunked)
      layer.chunk = chunk;
    slides = slides || (mixers.is_explicit() && type == layer_type::sliding);
  }
  if (slides && window == 0)
    keys.refuse(ec::bad_format, "window",
                "missing; the model has layers with a sliding window");
  if (x.moe_layers() != x.num_layers && x.ffn.dense_size == 0)
    keys.refuse(ec::bad_format, "dense_size",
                "missing; the model has dense layers");
  check_mixers(keys, x);
}

} // namespace troupe
