// Strict reader of one safetensors file: an 8-byte little-endian header length,
// a JSON object name -> {dtype, shape, data_offsets}, then the bytes. The
// header is believed only after every number was checked against the file:
// ranges in order, without overlap or hole, shape x dtype equal to the range,
// the last byte at the end of the file. Bytes are read with pread, so a file
// that shrinks later gives an error and never a signal.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/model_file.hpp"
#include "runtime/model/tensor_info.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Headers above this size are refused before they are read.
inline constexpr uint64_t safetensors_header_max = 100'000'000;

class safetensors_file {
public:
  /// Opens and checks `path`. Fails with not_found, io or bad_format; the
  /// message has the path, and says when the file is something else (a Git LFS
  /// pointer, a web page, a pickle, ...) or is truncated.
  static result<safetensors_file> open(const std::string& path);

  safetensors_file(safetensors_file&& other) noexcept;
  safetensors_file& operator=(safetensors_file&& other) noexcept;

  const std::string& path() const {
    return file_.path();
  }

  /// All tensors by name.
  const std::map<std::string, tensor_info, std::less<>>& tensors() const {
    return tensors_;
  }

  /// The free text of "__metadata__".
  const std::map<std::string, std::string, std::less<>>& metadata() const {
    return metadata_;
  }

  /// nullptr if there is none.
  const tensor_info* find(std::string_view name) const;

  /// Fills `out` from byte `begin` of the tensor on. Any thread.
  /// @pre begin + out.size() <= x.bytes
  result<void> read(const tensor_info& x, uint64_t begin,
                    std::span<std::byte> out) const;

  /// Name, size, inode and time of the last change: another text means that the
  /// file may hold other bytes. Asked of the open file, each time.
  std::string stamp() const;

  uint64_t file_bytes() const {
    return file_.bytes();
  }

  /// Bytes of tensors read so far, the header not counted.
  uint64_t bytes_read() const {
    return bytes_read_.load(std::memory_order_relaxed);
  }

private:
  explicit safetensors_file(model_file file);

  model_file file_;
  std::map<std::string, tensor_info, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
  mutable std::atomic<uint64_t> bytes_read_{0};
};

} // namespace troupe
