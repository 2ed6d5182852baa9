// The parts of a recipe, each read from config.json by one function. They run
// in this order, as later parts need the sizes of earlier ones; faults are
// collected in `keys`, and where there are some the recipe is not used.
#pragma once

#include "kernels/short_conv.hpp"
#include "runtime/model/config_keys.hpp"
#include "runtime/model/model_config.hpp"
#include "runtime/model/model_family.hpp"

#include <cstdint>

namespace troupe {

// Generous bounds: nothing known comes near them, and products of any three
// sizes fit 64 bits.
inline constexpr uint32_t size_max = 1u << 20;
inline constexpr uint32_t layers_max = 4096;
inline constexpr uint32_t heads_max = 4096;
inline constexpr uint32_t head_dim_max = 4096;
inline constexpr uint32_t experts_max = 65536;
inline constexpr uint32_t vocab_max = 1u << 24;
inline constexpr uint32_t positions_max = 1u << 28;
inline constexpr uint32_t taps_max = kernels::conv_taps_max;
/// Angles of later positions are not exact: no sequence gets that long.
inline constexpr uint32_t positions_exact = 1u << 21;

/// Sizes and factors of the whole model.
void read_model_sizes(config_keys& keys, model_config& x);

/// Heads, biases, norms of queries and keys, and the sizes of other mixers.
void read_mixers(config_keys& keys, const model_family& family,
                 model_config& x);

/// Theta, turning dimensions and scaling, in both spellings.
void read_rope(config_keys& keys, model_config& x);

/// The softmax scale, from all that enters it.
void read_attention_scale(config_keys& keys, const model_family& family,
                          model_config& x);

void read_router(config_keys& keys, model_config& x);

void read_ffn(config_keys& keys, model_config& x);

/// How quantised weights are stored.
void read_weight_format(config_keys& keys, model_config& x);

/// What each layer is.
void read_layers(config_keys& keys, const model_family& family,
                 model_config& x);

} // namespace troupe
