// Writes a GGUF file, version 3: the format that llama.cpp reads.
//
//   "GGUF" version:u32 tensor_count:u64 key_count:u64
//   keys:    name, type:u32, value
//   tensors: name, rank:u32, sizes:u64[rank] (fastest first), type:u32, offset
//   padding to 32, then the tensors' bytes, each padded to 32
//
// Numbers are little endian, strings a u64 length and bytes. Keys and tensors
// are declared first; then the bytes are appended in the declared order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::bench {

/// Element types, by their numbers in the file.
enum class gguf_type : uint32_t { f32 = 0, bf16 = 30 };

class gguf_writer {
public:
  explicit gguf_writer(const std::string& path);

  void add_key(std::string_view name, uint32_t value);
  void add_key(std::string_view name, float value);
  void add_key(std::string_view name, std::string_view value);

  /// Declares a tensor of the given shape, slowest size first.
  void add_tensor(std::string_view name, std::span<const std::size_t> shape,
                  gguf_type type);

  /// Ends the declarations.
  void begin_data();

  /// Appends bytes to the tensor that is next; tensors may come in pieces.
  void append(std::span<const std::byte> bytes);

  /// Writes what is left and returns whether all of it reached the file, and
  /// was as long as declared.
  bool finish();

private:
  void pad();

  std::ofstream out_;
  std::string keys_;
  std::string tensors_;
  std::vector<uint64_t> tensor_bytes_; // declared length of each tensor
  uint64_t key_count_ = 0;
  uint64_t data_bytes_ = 0; // declared so far, with padding
  std::size_t tensor_ = 0;  // the one being written
  uint64_t written_ = 0;    // bytes of it
};

} // namespace troupe::bench
