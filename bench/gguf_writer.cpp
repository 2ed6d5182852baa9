#include "bench/gguf_writer.hpp"

#include <array>
#include <functional>
#include <numeric>

namespace troupe::bench {

namespace {

constexpr uint64_t alignment = 32;

// Types of a key's value.
constexpr uint32_t u32_value = 4;
constexpr uint32_t f32_value = 6;
constexpr uint32_t string_value = 8;

template <class T>
void put(std::string& out, T x) {
  out.append(reinterpret_cast<const char*>(&x), sizeof(x));
}

void put_string(std::string& out, std::string_view x) {
  put(out, uint64_t{x.size()});
  out.append(x);
}

uint64_t padded(uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

gguf_writer::gguf_writer(const std::string& path)
  : out_{path, std::ios::binary} {
}

void gguf_writer::add_key(std::string_view name, uint32_t value) {
  put_string(keys_, name);
  put(keys_, u32_value);
  put(keys_, value);
  ++key_count_;
}

void gguf_writer::add_key(std::string_view name, float value) {
  put_string(keys_, name);
  put(keys_, f32_value);
  put(keys_, value);
  ++key_count_;
}

void gguf_writer::add_key(std::string_view name, std::string_view value) {
  put_string(keys_, name);
  put(keys_, string_value);
  put_string(keys_, value);
  ++key_count_;
}

void gguf_writer::add_tensor(std::string_view name,
                             std::span<const std::size_t> shape,
                             gguf_type type) {
  put_string(tensors_, name);
  put(tensors_, static_cast<uint32_t>(shape.size()));
  for (std::size_t i = shape.size(); i-- > 0;)
    put(tensors_, uint64_t{shape[i]});
  put(tensors_, static_cast<uint32_t>(type));
  put(tensors_, data_bytes_);
  const uint64_t element_bytes = type == gguf_type::f32 ? 4 : 2;
  const uint64_t bytes = std::accumulate(shape.begin(), shape.end(),
                                         element_bytes, std::multiplies<>{});
  tensor_bytes_.push_back(bytes);
  data_bytes_ += padded(bytes);
}

void gguf_writer::begin_data() {
  std::string head = "GGUF";
  put(head, uint32_t{3});
  put(head, uint64_t{tensor_bytes_.size()});
  put(head, key_count_);
  head += keys_ + tensors_;
  head.resize(padded(head.size()));
  out_.write(head.data(), static_cast<std::streamsize>(head.size()));
}

void gguf_writer::append(std::span<const std::byte> bytes) {
  out_.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  written_ += bytes.size();
  if (tensor_ < tensor_bytes_.size() && written_ == tensor_bytes_[tensor_])
    pad();
}

bool gguf_writer::finish() {
  out_.close();
  return !out_.fail() && tensor_ == tensor_bytes_.size() && written_ == 0;
}

void gguf_writer::pad() {
  static constexpr std::array<char, alignment> zeros{};
  out_.write(zeros.data(),
             static_cast<std::streamsize>(padded(written_) - written_));
  ++tensor_;
  written_ = 0;
}

} // namespace troupe::bench
