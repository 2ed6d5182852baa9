// Memory of keys and values: one arena of blocks per layer, bounded when made.
// Who owns which block is the block_manager's affair. Keys and values are
// rounded to the cache type when written, before any attention reads them.
#pragma once

#include "kernels/tensor.hpp"
#include "runtime/error.hpp"
#include "runtime/model/model_config.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

struct kv_cache_options {
  uint64_t bytes_max = uint64_t{256} << 20; ///< Bound on all layers together.
  uint32_t tokens_max = 0; ///< Never more than that many tokens; 0: no limit.
  kernels::dtype type = kernels::dtype::bf16; ///< bf16, or f32 in f32 mode.
};

class kv_cache {
public:
  /// Allocates as many blocks as fit. Errors: out_of_memory when not even one
  /// block fits in the bound (says how many bytes it needs).
  static result<kv_cache> make(const model_config& config,
                               kv_cache_options options);

  uint32_t blocks() const noexcept {
    return blocks_;
  }
  uint32_t block_tokens() const noexcept;
  uint64_t capacity_tokens() const noexcept {
    return uint64_t{blocks_} * block_tokens();
  }
  kernels::dtype type() const noexcept {
    return type_;
  }
  /// Bytes of all blocks of all layers.
  uint64_t size_bytes() const noexcept;

  /// Bytes one token occupies in all layers.
  static uint64_t bytes_per_token(const model_config& config,
                                  kernels::dtype type);

private:
  kernels::dtype type_ = kernels::dtype::bf16;
  uint32_t blocks_ = 0;
  std::vector<kernels::aligned_buffer> layers_;
};

} // namespace troupe
