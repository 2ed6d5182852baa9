#include "runtime/cache/slot_format.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe {

static_assert(std::endian::native == std::endian::little,
              "numbers of the file are little endian and used as they are");

namespace {

constexpr std::string_view magic{"troupe slots 1\n\0", 16};
constexpr size_t numbers_begin = 16;
constexpr size_t identity_begin = 48;
constexpr size_t note_begin = 112;
constexpr size_t header_sum_begin = 4080;
constexpr size_t entry_seal_begin = 48;
/// Offsets are signed in the system's interface.
constexpr uint64_t file_bytes_max = uint64_t{1} << 62U;

static_assert(note_begin + slot_note_bytes == header_sum_begin);

uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

template <class T>
void put(std::span<std::byte> out, size_t begin, const T& x) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(out.data() + begin, &x, sizeof x);
}

void put_text(std::span<std::byte> out, size_t begin, std::string_view text) {
  std::memcpy(out.data() + begin, text.data(), text.size());
}

template <size_t N>
checksum sum_before(const std::array<std::byte, N>& x, size_t end) {
  return checksum_of(std::span{x}.first(end));
}

} // namespace

std::optional<slot_layout> slot_layout::of(std::vector<uint64_t> capacities) {
  slot_layout out;
  uint64_t at =
    round_up(page_bytes + capacities.size() * entry_bytes, data_alignment);
  for (auto capacity : capacities) {
    if (capacity > file_bytes_max || at > file_bytes_max - capacity)
      return std::nullopt;
    out.begins_.push_back(at);
    at = round_up(at + capacity, page_bytes);
  }
  out.file_bytes_ = at;
  out.capacities_ = std::move(capacities);
  return out;
}

slot_header make_slot_header(const slot_plan& plan, const slot_layout& layout) {
  TROUPE_ASSERT(plan.identity.size() == slot_identity_bytes);
  TROUPE_ASSERT(plan.capacities.size() == layout.slots());
  slot_header out{};
  put_text(out, 0, magic);
  const std::array<uint64_t, 4> numbers{layout.slots(), layout.table_begin(),
                                        layout.data_begin(),
                                        layout.file_bytes()};
  put(out, numbers_begin, numbers);
  put_text(out, identity_begin, plan.identity);
  put_text(out, note_begin,
           std::string_view{plan.note}.substr(0, slot_note_bytes));
  put(out, header_sum_begin, sum_before(out, header_sum_begin));
  return out;
}

bool is_header_of(const slot_header& found, const slot_header& expected) {
  return std::equal(expected.begin(), expected.begin() + note_begin,
                    found.begin()) &&
         note_of(found).has_value();
}

std::optional<std::string> note_of(const slot_header& x) {
  if (std::memcmp(x.data(), magic.data(), magic.size()) != 0)
    return std::nullopt;
  const auto sum = sum_before(x, header_sum_begin);
  if (std::memcmp(x.data() + header_sum_begin, &sum, sizeof sum) != 0)
    return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(x.data()) + note_begin;
  return std::string{text, strnlen(text, slot_note_bytes)};
}

slot_entry make_slot_entry(std::string_view identity, size_t index,
                           const slot_seal& x) {
  TROUPE_ASSERT(identity.size() == slot_identity_bytes);
  slot_entry out{};
  put(out, 0, x.sum);
  put(out, 16, x.bytes);
  put(out, 24, static_cast<uint64_t>(index));
  std::array<std::byte, slot_identity_bytes + entry_seal_begin> sealed{};
  put_text(sealed, 0, identity);
  std::copy_n(out.begin(), entry_seal_begin,
              sealed.begin() + slot_identity_bytes);
  put(out, entry_seal_begin, checksum_of(sealed));
  return out;
}

std::optional<slot_seal> read_slot_entry(const slot_entry& found,
                                         std::string_view identity,
                                         size_t index, uint64_t capacity) {
  slot_seal x;
  std::memcpy(&x.sum, found.data(), sizeof x.sum);
  std::memcpy(&x.bytes, found.data() + 16, sizeof x.bytes);
  if (x.bytes > capacity || make_slot_entry(identity, index, x) != found)
    return std::nullopt;
  return x;
}

} // namespace troupe
