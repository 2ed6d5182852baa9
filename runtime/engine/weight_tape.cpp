#include "runtime/engine/weight_tape.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace troupe {

namespace {

constexpr uint64_t magic = 0x31'65'70'61'74'70'72'74; // "trptape1"
constexpr uint64_t alignment = kernels::aligned_buffer::alignment;
constexpr size_t fixed_numbers = 3; // magic, bytes, parts

enum kind : uint64_t { nothing, packed_matrix, float_vector, looked_up };

uint64_t padded(uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// FNV-1a: keeps weights apart whose sizes are the same.
uint64_t hash_of(std::string_view key) {
  uint64_t x = 0xcbf29ce484222325U;
  for (const char c : key)
    x = (x ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return x;
}

tl::unexpected<error> mismatch(std::string_view key) {
  return fail(ec::bad_format, "{}: the cached image holds something else", key);
}

} // namespace

struct weight_tape::piece {
  uint64_t key = 0;
  uint64_t kind = 0;
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t type = 0;
  uint64_t bytes = 0;
};

// -- recording --------------------------------------------------------------

void weight_tape::record(const piece& head, stretch data) {
  TROUPE_ASSERT(head.bytes == data.bytes.size());
  auto own = std::make_shared<const piece>(head);
  const auto bytes = std::as_bytes(std::span{own.get(), 1});
  recorded_.push_back({bytes, own});
  recorded_.push_back(std::move(data));
}

result<kernels::packed_weight>
weight_tape::record(std::string_view key, result<kernels::packed_weight> x) {
  if (!x)
    return x;
  if (x->empty()) {
    record(piece{hash_of(key), nothing, 0, 0, 0, 0}, {});
    return x;
  }
  auto own = std::make_shared<const kernels::packed_weight>(std::move(*x));
  const std::span bytes{own->data(), own->size_bytes()};
  auto view = kernels::packed_weight::view(
    bytes, {own->outputs(), own->inputs(), own->format()}, own->options());
  record(piece{hash_of(key), packed_matrix, own->outputs(), own->inputs(),
               static_cast<uint64_t>(own->format()), bytes.size()},
         {bytes, own});
  return view;
}

result<std::vector<float>> weight_tape::record(std::string_view key,
                                               result<std::vector<float>> x) {
  if (!x)
    return x;
  auto own = std::make_shared<const std::vector<float>>(*x);
  const auto bytes = std::as_bytes(std::span{*own});
  record(piece{hash_of(key), float_vector, 1, own->size(), 0, bytes.size()},
         {bytes, own});
  return x;
}

result<kernels::weight_view> weight_tape::record(std::string_view key,
                                                 result<hidden_rows> x) {
  if (!x)
    return tl::unexpected{x.error()};
  auto own = std::make_shared<const hidden_rows>(std::move(*x));
  const auto view = own->view();
  const auto bytes =
    own->memory.as<std::byte>().first(own->rows * own->row_bytes());
  record(piece{hash_of(key), looked_up, own->rows, own->cols,
               static_cast<uint64_t>(own->type), bytes.size()},
         {bytes, own});
  return view;
}

// -- playing ----------------------------------------------------------------

result<std::pair<weight_tape::piece, std::span<const std::byte>>>
weight_tape::play(std::string_view key, uint64_t kind) {
  piece head;
  if (part_->size() < padded(sizeof head))
    return mismatch(key);
  std::memcpy(&head, part_->data(), sizeof head);
  const auto rest = part_->subspan(padded(sizeof head));
  if (head.key != hash_of(key) || head.bytes > rest.size() ||
      (head.kind != kind && head.kind != nothing))
    return mismatch(key);
  part_ = rest.subspan(std::min<size_t>(padded(head.bytes), rest.size()));
  return std::pair{head, rest.first(head.bytes)};
}

result<kernels::packed_weight>
weight_tape::play_packed(std::string_view key,
                         kernels::compute_options options) {
  const auto found = play(key, packed_matrix);
  if (!found)
    return tl::unexpected{found.error()};
  const auto& [head, bytes] = *found;
  if (head.kind == nothing)
    return kernels::packed_weight{};
  constexpr uint64_t side_max = uint64_t{1} << 32U;
  const auto format = static_cast<kernels::weight_format>(head.type);
  if (head.rows == 0 || head.columns == 0 || head.rows > side_max ||
      head.columns > side_max ||
      std::find(image_formats.begin(), image_formats.end(), format) ==
        image_formats.end())
    return mismatch(key);
  const kernels::weight_shape shape{head.rows, head.columns, format};
  if (kernels::packed_weight::bytes_needed(shape, options) != bytes.size())
    return mismatch(key);
  return kernels::packed_weight::view(bytes, shape, options);
}

result<std::vector<float>> weight_tape::play_floats(std::string_view key) {
  const auto found = play(key, float_vector);
  if (!found)
    return tl::unexpected{found.error()};
  const auto& bytes = found->second;
  if (bytes.size() % sizeof(float) != 0)
    return mismatch(key);
  std::vector<float> out(bytes.size() / sizeof(float));
  if (!out.empty())
    std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

result<kernels::weight_view> weight_tape::play_rows(std::string_view key) {
  const auto found = play(key, looked_up);
  if (!found)
    return tl::unexpected{found.error()};
  const auto& [head, bytes] = *found;
  const auto type = static_cast<kernels::dtype>(head.type);
  if (type != kernels::dtype::bf16 && type != kernels::dtype::f32)
    return mismatch(key);
  const auto row_bytes = head.columns * kernels::size_of(type);
  if (head.columns == 0 || head.columns > bytes.size() ||
      bytes.size() % row_bytes != 0 || bytes.size() / row_bytes != head.rows)
    return mismatch(key);
  return kernels::weight_view{bytes.data(), type, head.rows, head.columns,
                              head.columns};
}

// -- images -----------------------------------------------------------------

std::vector<weight_tape::stretch> image_of(std::span<const weight_tape> parts) {
  auto head =
    std::make_shared<std::vector<uint64_t>>(fixed_numbers + parts.size());
  uint64_t at = padded(head->size() * sizeof(uint64_t));
  std::vector<weight_tape::stretch> out{
    {std::as_bytes(std::span{*head}), head}};
  for (size_t i = 0; i < parts.size(); ++i) {
    (*head)[fixed_numbers + i] = at;
    for (const auto& x : parts[i].recorded()) {
      out.push_back(x);
      at += padded(x.bytes.size());
    }
  }
  (*head)[0] = magic;
  (*head)[1] = at;
  (*head)[2] = parts.size();
  return out;
}

uint64_t image_bytes(std::span<const weight_tape::stretch> image) {
  uint64_t sum = 0;
  for (const auto& x : image)
    sum += padded(x.bytes.size());
  return sum;
}

void copy_image(std::span<const weight_tape::stretch> image, uint64_t begin,
                std::span<std::byte> out) {
  std::memset(out.data(), 0, out.size());
  const uint64_t end = begin + out.size();
  uint64_t at = 0;
  for (const auto& x : image) {
    const auto from = std::max(begin, at);
    const auto to = std::min<uint64_t>(end, at + x.bytes.size());
    if (from < to)
      std::memcpy(out.data() + (from - begin), x.bytes.data() + (from - at),
                  to - from);
    at += padded(x.bytes.size());
  }
}

std::optional<uint64_t> image_bytes_of(std::span<const std::byte> head) {
  std::array<uint64_t, fixed_numbers> numbers{};
  if (head.size() < sizeof numbers)
    return std::nullopt;
  std::memcpy(numbers.data(), head.data(), sizeof numbers);
  if (numbers[0] != magic || numbers[1] < sizeof numbers)
    return std::nullopt;
  return numbers[1];
}

result<std::vector<weight_tape>> parts_of(std::span<const std::byte> image) {
  const auto bytes = image_bytes_of(image);
  std::array<uint64_t, fixed_numbers> numbers{};
  if (!bytes || *bytes != image.size())
    return mismatch("head");
  std::memcpy(numbers.data(), image.data(), sizeof numbers);
  const auto parts = numbers[2];
  if (parts > image.size() / sizeof(uint64_t) - fixed_numbers)
    return mismatch("head");
  std::vector<uint64_t> begins(parts + 1, image.size());
  if (parts > 0)
    std::memcpy(begins.data(), image.data() + sizeof numbers,
                parts * sizeof(uint64_t));
  std::vector<weight_tape> out;
  for (size_t i = 0; i < parts; ++i) {
    if (begins[i] > begins[i + 1] || begins[i + 1] > image.size() ||
        begins[i] % alignment != 0)
      return mismatch("head");
    out.emplace_back(image.subspan(begins[i], begins[i + 1] - begins[i]));
  }
  return out;
}

} // namespace troupe
