// Probes the kernels by the sizes a node meets: one row (decode), a tile and a
// half (prefill), and a gated layer between two shapes. FNV-1a over the bits.
#include "kernels/numeric_fingerprint.hpp"

#include "kernels/activation.hpp"
#include "kernels/matmul.hpp"

#include <array>
#include <bit>
#include <vector>

namespace troupe::kernels {

namespace {

class hasher {
public:
  void add(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8)
      hash_ = (hash_ ^ (bits >> shift & 0xffu)) * 1099511628211u;
  }
  uint64_t value() const {
    return hash_;
  }

private:
  uint64_t hash_ = 14695981039346656037u;
};

/// Fixed pseudo-random values in [-scale, scale) (a 64-bit LCG's upper bits).
std::vector<float> probe(size_t count, uint64_t seed, float scale) {
  std::vector<float> values(count);
  for (auto& value : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value =
      static_cast<float>(static_cast<int32_t>(seed >> 32)) * 0x1p-31f * scale;
  }
  return values;
}

std::vector<bf16> rounded(const std::vector<float>& values) {
  std::vector<bf16> out(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    out[i] = to_bf16(values[i]);
  return out;
}

/// Columns of a shape that are probed: more would tell nothing new.
constexpr size_t columns_max = 320;
constexpr size_t rows = 24;

void add_shape(hasher& hash, const probe_shape& shape, compute_options options,
               lanes& pool) {
  const size_t outputs = std::min(shape.outputs, columns_max);
  const auto weight = probe(outputs * shape.inputs, 1, 0.5f);
  const auto w = packed_weight::pack(
    as_activation(weight.data(), outputs, shape.inputs), options);
  const auto x = probe(rows * shape.inputs, 2, 2.0f);
  const auto x_bf16 = rounded(x);
  std::vector<float> y(rows * outputs);
  for (const size_t count : {size_t{1}, rows}) {
    const auto input = options.mode == numeric_mode::bf16
                         ? as_activation(x_bf16.data(), count, shape.inputs)
                         : as_activation(x.data(), count, shape.inputs);
    matmul(w, input, {y.data(), count, outputs, outputs}, pool);
    for (size_t i = 0; i < count * outputs; ++i)
      hash.add(y[i]);
  }
}

void add_activations(hasher& hash, isa level) {
  const auto up = probe(256, 3, 4.0f);
  for (const auto kind : {activation_kind::silu, activation_kind::gelu_tanh,
                          activation_kind::clamped_swish}) {
    auto gate = probe(256, 4, 12.0f);
    gated_activation({.kind = kind}, level, gate, up);
    for (const float value : gate)
      hash.add(value);
  }
}

} // namespace

uint64_t numeric_fingerprint(std::span<const probe_shape> shapes,
                             compute_options options, lanes& pool) {
  hasher hash;
  for (const auto& shape : shapes)
    add_shape(hash, shape, options, pool);
  const flush_denormals_scope flush;
  add_activations(hash, options.isa);
  return hash.value();
}

} // namespace troupe::kernels
