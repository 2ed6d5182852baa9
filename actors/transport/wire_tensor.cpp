// Raw bytes through CAF's serialiser with a checked length.
#include "actors/transport/wire_tensor.hpp"

#include <caf/binary_deserializer.hpp>
#include <caf/sec.hpp>

#include <limits>
#include <new>

namespace troupe {

namespace {

constexpr std::align_val_t buffer_alignment{64};

void release(std::byte* data) {
  ::operator delete(data, buffer_alignment);
}

} // namespace

std::shared_ptr<std::byte[]> shared_bytes::allocate(size_t size) noexcept {
  auto* data = static_cast<std::byte*>(
    ::operator new(size, buffer_alignment, std::nothrow));
  if (data == nullptr)
    return nullptr;
  try {
    return std::shared_ptr<std::byte[]>(data, release);
  } catch (const std::bad_alloc&) {
    // The control block did not fit; shared_ptr has released the data.
    return nullptr;
  }
}

shared_bytes shared_bytes::copy_of(std::span<const std::byte> bytes) {
  if (bytes.empty())
    return {};
  auto data = allocate(bytes.size());
  TROUPE_ASSERT(data != nullptr);
  std::memcpy(data.get(), bytes.data(), bytes.size());
  return {std::move(data), bytes.size()};
}

shared_bytes shared_bytes::slice(size_t offset, size_t size) const {
  TROUPE_ASSERT(offset <= size_ && size <= size_ - offset);
  if (size == 0)
    return {};
  return {std::shared_ptr<const std::byte[]>(data_, data_.get() + offset),
          size};
}

caf::error inspect(caf::serializer& sink, shared_bytes& x) {
  if (x.size() > std::numeric_limits<uint32_t>::max())
    return caf::sec::invalid_argument;
  auto size = static_cast<uint32_t>(x.size());
  if (auto err = sink.apply(size))
    return err;
  if (size == 0)
    return caf::none;
  // The serialiser takes a mutable pointer but only reads.
  return sink.apply_raw(size, const_cast<std::byte*>(x.data()));
}

caf::error inspect(caf::deserializer& source, shared_bytes& x) {
  x = {};
  auto* input = dynamic_cast<caf::binary_deserializer*>(&source);
  if (input == nullptr)
    return caf::sec::invalid_argument; // No other kind knows what is left.
  uint32_t size = 0;
  if (auto err = source.apply(size))
    return err;
  if (size == 0)
    return caf::none;
  if (size > input->remaining())
    return caf::sec::end_of_stream;
  auto data = shared_bytes::allocate(size);
  if (data == nullptr)
    return caf::sec::runtime_error;
  if (auto err = source.apply_raw(size, data.get()))
    return err;
  x = shared_bytes{std::move(data), size};
  return caf::none;
}

std::string to_string(const shared_bytes& x) {
  return "bytes(" + std::to_string(x.size()) + ")";
}

} // namespace troupe
