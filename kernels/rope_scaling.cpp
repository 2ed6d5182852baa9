// The formulas of RoPE scaling.
#include "kernels/rope_scaling.hpp"

#include "kernels/math.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

namespace troupe::kernels {

namespace {

constexpr double two_pi = 2 * std::numbers::pi;

double scale_factor(const rope_scaling& x) {
  if (x.factor != 0)
    return x.factor;
  return static_cast<double>(x.max_positions) /
         static_cast<double>(x.original_positions);
}

bool positive(double x) {
  return std::isfinite(x) && x > 0;
}

tl::unexpected<error> bad(std::string_view name, double found,
                          std::string_view expected) {
  return fail(ec::bad_format,
              "rope scaling: {} is {}, expected {}; correct the checkpoint's "
              "config.json",
              name, found, expected);
}

result<void> check_factor(const rope_scaling& x) {
  if (x.factor == 0 && x.max_positions == 0)
    return bad("factor", x.factor, "a number above 0, or a maximum length");
  if (!positive(scale_factor(x)))
    return bad("factor", scale_factor(x), "a number above 0");
  if (x.attention_factor && !positive(*x.attention_factor))
    return bad("attention_factor", *x.attention_factor, "a number above 0");
  return {};
}

result<void> check_llama3(const rope_scaling& x) {
  if (!positive(x.low_freq_factor))
    return bad("low_freq_factor", x.low_freq_factor, "a number above 0");
  if (!positive(x.high_freq_factor) || x.high_freq_factor < x.low_freq_factor)
    return bad("high_freq_factor", x.high_freq_factor,
               "a number not below low_freq_factor");
  return {};
}

result<void> check_yarn(const rope_scaling& x) {
  if (!positive(x.beta_fast))
    return bad("beta_fast", x.beta_fast, "a number above 0");
  if (!positive(x.beta_slow) || x.beta_slow > x.beta_fast)
    return bad("beta_slow", x.beta_slow,
               "a number above 0 and at most beta_fast");
  // Below 0 the factor of cosines and sines could pass through 0.
  if (!std::isfinite(x.mscale) || x.mscale < 0)
    return bad("mscale", x.mscale, "a number of 0 or more");
  if (!std::isfinite(x.mscale_all_dim) || x.mscale_all_dim < 0)
    return bad("mscale_all_dim", x.mscale_all_dim, "a number of 0 or more");
  return {};
}

result<void> check_longrope(const rope_scaling& x, size_t rotary_dim) {
  if (x.original_positions < 2)
    return bad("original_max_position_embeddings",
               static_cast<double>(x.original_positions), "at least 2");
  for (const auto* factors : {&x.short_factors, &x.long_factors}) {
    const bool is_short = factors == &x.short_factors;
    const auto* name = is_short ? "short_factor" : "long_factor";
    if (factors->size() != rotary_dim / 2)
      return fail(ec::bad_format,
                  "rope scaling: {} has {} numbers, expected {} (half the "
                  "rotary dimension); correct the checkpoint's config.json",
                  name, factors->size(), rotary_dim / 2);
    for (const double factor : *factors)
      if (!positive(factor))
        return bad(name, factor, "numbers above 0");
  }
  for (const auto& mscale : {x.short_mscale, x.long_mscale})
    if (mscale && !positive(*mscale))
      return bad("short_mscale or long_mscale", *mscale, "a number above 0");
  return {};
}

/// Wavelengths short against the trained length stay, long ones are stretched
/// by the factor, and those between are blended by their frequency.
double llama3_frequency(const rope_scaling& x, double frequency) {
  const double rotations =
    static_cast<double>(x.original_positions) * frequency / two_pi;
  if (rotations > x.high_freq_factor)
    return frequency;
  const double scaled = frequency / scale_factor(x);
  // With equal factors there is nothing between.
  if (rotations < x.low_freq_factor || x.high_freq_factor == x.low_freq_factor)
    return scaled;
  const double blend =
    (rotations - x.low_freq_factor) / (x.high_freq_factor - x.low_freq_factor);
  return (1 - blend) * scaled + blend * frequency;
}

/// Dimensions between which YaRN goes from the trained to scaled frequencies.
struct yarn_ramp {
  double low;
  double high;

  yarn_ramp(const rope_scaling& x, double theta, size_t rotary_dim) {
    const auto dims = static_cast<double>(rotary_dim);
    const auto positions = static_cast<double>(x.original_positions);
    const auto dimension = [&](double rotations) {
      return dims * log_f64(positions / (rotations * two_pi)) /
             (2 * log_f64(theta));
    };
    low = dimension(x.beta_fast);
    high = dimension(x.beta_slow);
    if (x.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, dims - 1);
    if (low == high)
      high += 0.001; // as the reference avoids the division by 0
  }

  /// Share of the scaled frequency at dimension pair `i`.
  double at(size_t i) const {
    return std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
  }
};

double yarn_mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * log_f64(factor) + 1.0;
}

double yarn_attention_factor(const rope_scaling& x) {
  const double factor = scale_factor(x);
  if (x.mscale != 0 && x.mscale_all_dim != 0)
    return yarn_mscale(factor, x.mscale) /
           yarn_mscale(factor, x.mscale_all_dim);
  return yarn_mscale(factor, 1.0);
}

double longrope_attention_factor(const rope_scaling& x) {
  const double factor = scale_factor(x);
  if (factor <= 1)
    return 1.0;
  const auto positions = static_cast<double>(x.original_positions);
  return std::sqrt(1 + log_f64(factor) / log_f64(positions));
}

} // namespace

result<void> check_rope_scaling(const rope_scaling& scaling, double theta,
                                size_t rotary_dim) {
  if (!std::isfinite(theta) || theta <= 1)
    return bad("rope_theta", theta, "a number above 1");
  if (rotary_dim == 0 || rotary_dim % 2 != 0)
    return bad("the rotary dimension", static_cast<double>(rotary_dim),
               "an even number above 0");
  if (scaling.kind == rope_scaling_kind::none)
    return {};
  if (scaling.original_positions == 0 &&
      scaling.kind != rope_scaling_kind::linear)
    return bad("original_max_position_embeddings", 0, "a number above 0");
  return check_factor(scaling).and_then([&]() -> result<void> {
    switch (scaling.kind) {
    case rope_scaling_kind::llama3:
      return check_llama3(scaling);
    case rope_scaling_kind::yarn:
      return check_yarn(scaling);
    case rope_scaling_kind::longrope:
      return check_longrope(scaling, rotary_dim);
    default:
      return {};
    }
  });
}

std::vector<float> rope_inverse_frequencies(double theta, size_t rotary_dim,
                                            const rope_scaling& scaling,
                                            rope_set set) {
  TROUPE_ASSERT(rotary_dim % 2 == 0 && theta > 1);
  std::optional<yarn_ramp> ramp;
  if (scaling.kind == rope_scaling_kind::yarn)
    ramp.emplace(scaling, theta, rotary_dim);
  const auto& factors =
    set == rope_set::long_range ? scaling.long_factors : scaling.short_factors;
  const auto scaled = [&](double frequency, size_t i) {
    switch (scaling.kind) {
    case rope_scaling_kind::linear:
      return frequency / scale_factor(scaling);
    case rope_scaling_kind::llama3:
      return llama3_frequency(scaling, frequency);
    case rope_scaling_kind::yarn:
      return frequency / scale_factor(scaling) * ramp->at(i) +
             frequency * (1 - ramp->at(i));
    case rope_scaling_kind::longrope:
      TROUPE_ASSERT(i < factors.size());
      return frequency / factors[i];
    default:
      return frequency;
    }
  };
  std::vector<float> out(rotary_dim / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const double exponent =
      -static_cast<double>(2 * i) / static_cast<double>(rotary_dim);
    out[i] = static_cast<float>(scaled(pow_f64(theta, exponent), i));
  }
  return out;
}

float rope_attention_factor(const rope_scaling& scaling, rope_set set) {
  const bool yarn = scaling.kind == rope_scaling_kind::yarn;
  if (!yarn && scaling.kind != rope_scaling_kind::longrope)
    return 1.0f;
  const auto& mscale =
    set == rope_set::long_range ? scaling.long_mscale : scaling.short_mscale;
  if (!yarn && mscale)
    return static_cast<float>(*mscale);
  if (scaling.attention_factor)
    return static_cast<float>(*scaling.attention_factor);
  return static_cast<float>(yarn ? yarn_attention_factor(scaling)
                                 : longrope_attention_factor(scaling));
}

double rope_softmax_factor(const rope_scaling& scaling) {
  if (scaling.kind != rope_scaling_kind::yarn || scaling.mscale_all_dim == 0)
    return 1.0;
  const double mscale =
    yarn_mscale(scale_factor(scaling), scaling.mscale_all_dim);
  return mscale * mscale;
}

rope_set rope_set_of(const rope_scaling& scaling, size_t prompt_tokens,
                     size_t position) {
  const size_t trained = scaling.original_positions;
  return scaling.kind == rope_scaling_kind::longrope &&
             (prompt_tokens > trained || position >= trained)
           ? rope_set::long_range
           : rope_set::short_range;
}

rope_tables make_rope_tables(double theta, size_t rotary_dim,
                             const rope_scaling& scaling) {
  const auto table = [&](rope_set set) {
    return rope_table{rope_inverse_frequencies(theta, rotary_dim, scaling, set),
                      rope_attention_factor(scaling, set)};
  };
  return {table(rope_set::short_range), table(rope_set::long_range)};
}

void rope_angles(const rope_tables& tables, std::span<const rope_row> rows,
                 matrix_view<float> angles) {
  TROUPE_ASSERT(angles.rows == rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    const rope_table& table = rows[r].set == rope_set::long_range
                                ? tables.long_range
                                : tables.short_range;
    rope_angles(table.inverse_frequencies, {&rows[r].position, 1},
                table.attention_factor,
                {angles.row(r), 1, angles.cols, angles.stride});
  }
}

} // namespace troupe::kernels
