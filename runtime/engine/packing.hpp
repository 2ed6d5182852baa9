// From a tensor as stored to what the kernels read.
#pragma once

#include "kernels/matmul.hpp"
#include "kernels/tensor.hpp"
#include "runtime/engine/hidden_rows.hpp"
#include "runtime/error.hpp"
#include "runtime/model/checkpoint.hpp"
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

/// Exact value of an IEEE half.
float half_to_float(uint16_t bits) noexcept;

/// Reads a matrix and packs it.
result<kernels::packed_weight> load_packed(const checkpoint& files,
                                           std::string_view name,
                                           kernels::compute_options options);

/// Reads a vector as f32.
result<std::vector<float>> load_floats(const checkpoint& files,
                                       std::string_view name);

/// Reads a matrix to be looked up row by row; bf16 or f32.
result<hidden_rows> load_rows(const checkpoint& files, std::string_view name);

} // namespace troupe
