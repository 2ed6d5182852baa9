// Batch-invariant f32 matmul from oneDNN primitives of fixed shape: one block
// of 256 columns, K in chunks, rows in tiles of heights that were compared bit
// for bit with the reference height when the object was made. Internal to
// kernels/.
#pragma once

#include "kernels/dnnl_context.hpp"
#include "kernels/isa.hpp"
#include "kernels/tensor.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace troupe::kernels {

class f32_tiles {
public:
  static constexpr size_t columns = 256;
  static constexpr size_t chunk_inputs = 4096;
  static constexpr size_t reference_rows = 32;

  /// The tiles for rows of `inputs` elements, made once per process and shape.
  static std::shared_ptr<const f32_tiles> of(size_t inputs, isa level);

  f32_tiles(size_t inputs, isa level);

  size_t block_bytes() const;

  /// Packs dense W[256, inputs].
  void pack_block(const float* weight, std::byte* block) const;

  /// out[i] = x[i] * block^T for `rows` rows of `inputs` elements. Rows up to
  /// the next multiple of 32 must be readable.
  void multiply(const std::byte* block, const float* x, size_t rows,
                matrix_view<float> out) const;

  /// Heights that passed, descending; the first is the reference.
  std::span<const size_t> heights() const {
    return heights_;
  }

private:
  struct chunk {
    size_t first = 0; ///< First element of K.
    size_t inputs = 0;
    size_t offset = 0;            ///< Bytes from the start of a block.
    std::vector<dnnl_tile> tiles; ///< One for each of `heights_`.
  };

  size_t choose_height(size_t rows) const;

  size_t inputs_;
  size_t block_bytes_ = 0;
  std::vector<size_t> heights_;
  std::vector<chunk> chunks_;
};

} // namespace troupe::kernels
