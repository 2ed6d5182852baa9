// The bytes of a tensor on the wire: immutable, shared, refcounted. Dtype and
// shape are fields of the message that holds them. On the wire: u32 length (big
// endian, as CAF writes integers), then the raw bytes in the sender's order
// (little endian; `hello` refuses any other peer).
// Never let a float, a vector of bytes or a length of a peer reach CAF's own
// serialiser: see docs of each function.
#pragma once

#include "runtime/assert.hpp"

#include <caf/deserializer.hpp>
#include <caf/error.hpp>
#include <caf/serializer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

namespace troupe {

/// Immutable bytes with shared ownership. Copying it copies a pointer; local
/// messages never copy the bytes. Buffers made by `allocate` and `copy_of`
/// start at a multiple of 64 bytes.
class shared_bytes {
public:
  // -- constructors -----------------------------------------------------------

  shared_bytes() = default;

  /// Shares `size` bytes that `data` owns.
  shared_bytes(std::shared_ptr<const std::byte[]> data, size_t size)
    : data_(std::move(data)), size_(size) {
    TROUPE_ASSERT(size_ == 0 || data_ != nullptr);
  }

  /// Copies `bytes`. Aborts the process when memory is out.
  static shared_bytes copy_of(std::span<const std::byte> bytes);

  /// Copies the elements of `values`.
  template <class T>
  static shared_bytes copy_of_values(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return copy_of(std::as_bytes(values));
  }

  /// Allocates `size` bytes of undefined content, or returns nullptr when there
  /// is no memory. The caller fills it, then wraps it into a `shared_bytes`.
  static std::shared_ptr<std::byte[]> allocate(size_t size) noexcept;

  // -- properties -------------------------------------------------------------

  const std::byte* data() const noexcept {
    return data_.get();
  }
  size_t size() const noexcept {
    return size_;
  }
  bool empty() const noexcept {
    return size_ == 0;
  }
  std::span<const std::byte> bytes() const noexcept {
    return {data_.get(), size_};
  }

  /// Returns `size` bytes from `offset`, sharing ownership with this object.
  shared_bytes slice(size_t offset, size_t size) const;

  /// Returns whether the bytes can be read as an array of T without a copy:
  /// the size is a multiple of sizeof(T) and the address is aligned.
  template <class T>
  bool holds_array_of() const noexcept {
    return size_ % sizeof(T) == 0 &&
           reinterpret_cast<uintptr_t>(data_.get()) % alignof(T) == 0;
  }

  /// Views the bytes as an array of T. Check `holds_array_of` first for bytes
  /// from a peer.
  template <class T>
  std::span<const T> as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    TROUPE_ASSERT(holds_array_of<T>());
    return {reinterpret_cast<const T*>(data_.get()), size_ / sizeof(T)};
  }

  friend bool operator==(const shared_bytes& x, const shared_bytes& y) {
    return x.size_ == y.size_ &&
           (x.size_ == 0 ||
            std::memcmp(x.data_.get(), y.data_.get(), x.size_) == 0);
  }

private:
  std::shared_ptr<const std::byte[]> data_;
  size_t size_ = 0;
};

/// Writes length and bytes. Fails for 4 GiB and more.
/// @relates shared_bytes
caf::error inspect(caf::serializer& sink, shared_bytes& x);

/// Reads length and bytes. A length beyond what the frame still holds is an
/// error before anything is allocated. Never throws (an exception on the
/// receive path would end the process).
/// @relates shared_bytes
caf::error inspect(caf::deserializer& source, shared_bytes& x);

/// Returns "bytes(SIZE)"; also keeps CAF's stringifier away from the content.
/// @relates shared_bytes
std::string to_string(const shared_bytes& x);

} // namespace troupe
