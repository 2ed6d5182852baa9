// oneDNN (2.6 and 3.x) behind one small class: a single-threaded matmul of
// fixed shape. Engine, ISA limit and thread count are set here and nowhere
// else; no oneDNN type leaves this file pair.
#pragma once

#include "kernels/isa.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace troupe::kernels {

/// y[rows, outputs] = x[rows, inputs] * W^T; x has rows of `x_stride` elements,
/// y is dense.
struct tile_shape {
  size_t rows = 0;
  size_t inputs = 0;
  size_t outputs = 0;
  size_t x_stride = 0;
};

/// A oneDNN matmul primitive of one shape. Immutable; safe to run from several
/// threads at once. oneDNN takes its ISA limit once per process: the first
/// `options.isa` that reaches it wins.
class dnnl_tile {
public:
  /// bf16 mode: the weight has the layout BA16a64b2a, as in packed_weight.
  /// f32 mode: the layout is oneDNN's choice, or that of `like`. Nothing when
  /// oneDNN has no such kernel on this machine.
  static std::optional<dnnl_tile> make(const tile_shape& shape,
                                       compute_options options,
                                       const dnnl_tile* like = nullptr);

  size_t weight_bytes() const;

  /// Reorders a dense W[outputs, inputs] of the compute type into `out`
  /// (64-byte aligned, `weight_bytes`).
  void pack(const void* weight, std::byte* out) const;

  void run(const void* x, const std::byte* weight, float* y) const;

  const tile_shape& shape() const {
    return shape_;
  }

private:
  struct impl;
  dnnl_tile(const tile_shape& shape, std::shared_ptr<const impl> i);

  tile_shape shape_;
  std::shared_ptr<const impl> impl_;
};

/// Returns the version of the library that is loaded, e.g. "2.6.3".
std::string dnnl_version_name();

} // namespace troupe::kernels
