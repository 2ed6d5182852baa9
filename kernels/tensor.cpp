// Large buffers are mapped, so that they can start on a huge page and be given
// back whole; small ones come from the heap.
#include "kernels/tensor.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace troupe::kernels {

namespace {

constexpr size_t page_bytes = 4096;

size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Maps `bytes` (whole pages) from a huge page's boundary on: maps more, then
/// gives back what lies before and behind.
std::byte* map_on_huge_page(size_t bytes) {
  constexpr size_t huge = aligned_buffer::huge_page_bytes;
  if (bytes > SIZE_MAX - huge)
    throw std::bad_alloc{};
  void* mapped = mmap(nullptr, bytes + huge, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw std::bad_alloc{};
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const size_t before = round_up(begin, huge) - begin;
  auto* data = static_cast<std::byte*>(mapped) + before;
  if (before > 0)
    munmap(mapped, before);
  munmap(data + bytes, huge - before);
  // A refusal costs speed only.
  static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));
  return data;
}

} // namespace

aligned_buffer::aligned_buffer(size_t bytes) : bytes_(bytes) {
  if (bytes == 0)
    return;
  if (bytes > SIZE_MAX - page_bytes)
    throw std::bad_alloc{};
  if (bytes >= huge_page_bytes) {
    mapped_bytes_ = round_up(bytes, page_bytes);
    data_ = map_on_huge_page(mapped_bytes_);
    return;
  }
  const size_t whole = round_up(bytes, alignment);
  data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, whole));
  if (data_ == nullptr)
    throw std::bad_alloc{};
  std::memset(data_, 0, whole);
}

aligned_buffer::aligned_buffer(aligned_buffer&& other) noexcept
  : data_(std::exchange(other.data_, nullptr)),
    bytes_(std::exchange(other.bytes_, 0)),
    mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {
}

aligned_buffer& aligned_buffer::operator=(aligned_buffer&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
  }
  return *this;
}

aligned_buffer::~aligned_buffer() {
  release();
}

void aligned_buffer::release() {
  if (mapped_bytes_ > 0)
    munmap(data_, mapped_bytes_);
  else
    std::free(data_);
}

} // namespace troupe::kernels
