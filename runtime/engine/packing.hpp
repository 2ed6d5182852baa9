// From a tensor as stored to what the kernels read.
#pragma once

#include "kernels/matmul.hpp"
#include "kernels/tensor.hpp"
#include "runtime/engine/hidden_rows.hpp"
#include "runtime/error.hpp"
#include "runtime/model/checkpoint.hpp"
#include "runtime/model/stored_matrix.hpp"
#include "runtime/model/tensor_info.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace troupe {

/// A tensor in a type the kernels pack: bf16 and f32 as stored, f16 expanded to
/// f32. Borrows from the tensor or owns the expansion.
class weight_source {
public:
  /// Errors: unsupported, naming the type.
  static result<weight_source> of(const host_tensor& x);

  /// [rows, cols]; a vector is one row.
  kernels::weight_view view() const noexcept {
    return view_;
  }

  /// All elements as f32.
  std::vector<float> to_floats() const;

private:
  std::vector<float> expanded_;
  kernels::weight_view view_;
};

/// A matrix as stored, ready to be packed: plain or quantised. Borrows from it.
class matrix_source {
public:
  /// Errors: unsupported, naming the type.
  static result<matrix_source> of(const stored_matrix& x);

  kernels::packed_weight pack(kernels::compute_options options) const;

  /// @pre `memory` has `bytes_needed` for `shape()`.
  kernels::packed_weight pack_into(std::span<std::byte> memory,
                                   kernels::compute_options options) const;

  kernels::weight_shape shape() const;

  /// @pre the matrix is quantised
  const kernels::quantised_view& codes() const noexcept {
    return codes_;
  }

private:
  bool is_plain() const;

  weight_source plain_;
  std::vector<float> scales_; ///< of fp8_block
  kernels::quantised_view codes_;
};

/// Exact value of an IEEE half.
float half_to_float(uint16_t bits) noexcept;

/// Packs a matrix that was read.
result<kernels::packed_weight> pack_matrix(const stored_matrix& x,
                                           kernels::compute_options options);

/// Reads a matrix to be cut up: quantised values are expanded.
result<stored_matrix> load_expanded(const checkpoint& files,
                                    std::string_view name,
                                    kernels::compute_options options);

/// Reads a matrix and packs it.
result<kernels::packed_weight> load_packed(const checkpoint& files,
                                           std::string_view name,
                                           kernels::compute_options options);

/// Reads a vector as f32. Fails with bad_format when a number is not finite: in
/// a norm or bias it would spoil every token.
result<std::vector<float>> load_floats(const checkpoint& files,
                                       std::string_view name);

/// Reads a matrix to be looked up row by row; bf16 or f32.
result<hidden_rows> load_rows(const checkpoint& files, std::string_view name);

} // namespace troupe
