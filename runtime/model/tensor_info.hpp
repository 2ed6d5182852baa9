// What a checkpoint file says about one tensor, and a tensor's bytes once read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Element types of safetensors. Only bf16, f16 and f32 are computed with.
enum class storage_dtype {
  boolean,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  f64,
  i64,
  u64
};

/// Bytes of one element.
size_t size_of(storage_dtype x);

/// The name in safetensors headers, e.g. "BF16".
std::string_view to_string(storage_dtype x);

std::optional<storage_dtype> parse_storage_dtype(std::string_view name);

/// One tensor of a file.
struct tensor_info {
  std::string name;
  storage_dtype dtype = storage_dtype::bf16;
  std::vector<uint64_t> shape; ///< Outermost first.
  uint64_t offset = 0;         ///< Of the first byte, from the file's start.
  uint64_t bytes = 0;          ///< Elements x size of one, checked.
};

/// "BF16[64, 40]"
std::string describe(const tensor_info& x);

/// A tensor in memory, row-major as in the file. Move-only.
struct host_tensor {
  storage_dtype dtype = storage_dtype::bf16;
  std::vector<uint64_t> shape;
  std::unique_ptr<std::byte[]> data; ///< 16-byte aligned.
  size_t bytes = 0;

  std::span<const std::byte> view() const {
    return {data.get(), bytes};
  }
  uint64_t elements() const;
};

} // namespace troupe
