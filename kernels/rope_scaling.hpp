// RoPE beyond the trained length: the numbers of a checkpoint's config, and the
// frequencies and factors that follow from them. The formulas are those of
// transformers' modeling_rope_utils (linear, Llama 3, YaRN, LongRoPE), computed
// in f64 and rounded once.
#pragma once

#include "kernels/rope.hpp"
#include "runtime/error.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::kernels {

enum class rope_scaling_kind : uint8_t { none, linear, llama3, yarn, longrope };

/// As the config says it; what a kind does not use is ignored.
struct rope_scaling {
  rope_scaling_kind kind = rope_scaling_kind::none;
  double factor = 0;             ///< 0: max_positions / original_positions.
  size_t original_positions = 0; ///< Length of training.
  size_t max_positions = 0;      ///< Length the checkpoint promises.
  double low_freq_factor = 1;    ///< llama3
  double high_freq_factor = 4;   ///< llama3
  double beta_fast = 32;         ///< yarn: rotations from which nothing changes
  double beta_slow = 1;          ///< yarn: rotations up to which all is scaled
  bool truncate = true;          ///< yarn: the ramp ends at whole dimensions
  double mscale = 0;             ///< yarn; 0: not given
  double mscale_all_dim = 0;     ///< yarn; 0: not given
  std::optional<double> attention_factor{}; ///< yarn, longrope; else computed.
  std::vector<double> short_factors{};      ///< longrope: [rotary_dim / 2]
  std::vector<double> long_factors{};       ///< longrope: [rotary_dim / 2]
  std::optional<double> short_mscale{}; ///< longrope: attention factor by set,
  std::optional<double> long_mscale{};  ///< goes before `attention_factor`.
};

/// Which frequencies a row turns by. They differ with longrope only.
enum class rope_set : uint8_t { short_range, long_range };

/// Returns an error when these numbers define no rotation. To be called for
/// everything that comes from a file, before the functions below.
result<void> check_rope_scaling(const rope_scaling& scaling, double theta,
                                size_t rotary_dim);

/// Returns the scaled inverse frequencies, [rotary_dim / 2].
std::vector<float> rope_inverse_frequencies(double theta, size_t rotary_dim,
                                            const rope_scaling& scaling,
                                            rope_set set);

/// Returns what cosines and sines are multiplied by.
float rope_attention_factor(const rope_scaling& scaling, rope_set set);

/// Returns what multi-head latent attention multiplies its softmax scale by:
/// the square of yarn's factor for `mscale_all_dim`, 1 where that is not given.
double rope_softmax_factor(const rope_scaling& scaling);

/// The set of the row at `position` of a sequence whose prompt has
/// `prompt_tokens`: long for all rows of a prompt longer than the original
/// length, otherwise from that length on. The prompt is the request's own,
/// however it is chunked and however often it is computed again; so a row's
/// keys depend on its sequence only. (Blocks of sequences with other sets may
/// not be shared.)
rope_set rope_set_of(const rope_scaling& scaling, size_t prompt_tokens,
                     size_t position);

/// All a pass needs to turn rows.
struct rope_table {
  std::vector<float> inverse_frequencies; ///< [rotary_dim / 2]
  float attention_factor = 1.0f;
};

struct rope_tables {
  rope_table short_range;
  rope_table long_range; ///< The same as `short_range` but with longrope.
};

/// @pre check_rope_scaling
rope_tables make_rope_tables(double theta, size_t rotary_dim,
                             const rope_scaling& scaling);

/// A row to be turned.
struct rope_row {
  size_t position = 0;
  rope_set set = rope_set::short_range;
};

/// As `rope_angles` of kernels/rope.hpp, each row by its own set.
/// angles: [rows.size(), rotary_dim]
void rope_angles(const rope_tables& tables, std::span<const rope_row> rows,
                 matrix_view<float> angles);

} // namespace troupe::kernels
