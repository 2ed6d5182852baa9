// The format of a slot file: a fixed number of slots at fixed places, each
// filled once, by whichever process needs it first. Numbers are little endian.
//
//   0       header, 4096 bytes
//             0  magic "troupe slots 1\n\0"
//            16  slots, table_begin, data_begin, file_bytes   (u64 each)
//            48  identity, 64 hex digits: what the slots' bytes depend on
//           112  note, 3968 bytes of text, zero padded: for people
//          4080  checksum of bytes 0 to 4079
//   4096    table, an entry of 64 bytes for each slot
//             0  checksum of the slot's bytes
//            16  bytes used (u64), index (u64)
//            32  zeros
//            48  checksum of the identity and bytes 0 to 47
//   data_begin (a multiple of 2 MiB)
//           slots in order, each from a multiple of 4096 on
//
// Everything but the note and the table is known before the file is opened: a
// header that differs in a bit is another file's, and no offset is ever taken
// from the file. The one size that is, the bytes used of a slot, is believed
// only below its capacity. An entry that is not exactly what a sealed slot of
// its place must have says that the slot is empty. A file begins as zeros
// behind its header: all slots empty. It is sparse: an empty slot takes no
// space on the disk.
#pragma once

#include "runtime/cache/checksum.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

inline constexpr size_t slot_identity_bytes = 64;
inline constexpr size_t slot_note_bytes = 3968;

/// What a file of slots is for: known to whoever opens it.
struct slot_plan {
  std::string identity;             ///< 64 hex digits.
  std::string note;                 ///< Cut at `slot_note_bytes`.
  std::vector<uint64_t> capacities; ///< Of the slots, in bytes.
};

/// Where everything is. A function of the sizes alone.
class slot_layout {
public:
  /// Absent: the slots add up to more than a file can hold.
  static std::optional<slot_layout> of(std::vector<uint64_t> capacities);

  uint64_t table_begin() const {
    return page_bytes;
  }
  uint64_t entry_begin(size_t slot) const {
    return table_begin() + slot * entry_bytes;
  }
  uint64_t data_begin() const {
    return begins_.empty() ? file_bytes_ : begins_.front();
  }
  uint64_t slot_begin(size_t slot) const {
    return begins_[slot];
  }
  uint64_t capacity(size_t slot) const {
    return capacities_[slot];
  }
  uint64_t file_bytes() const {
    return file_bytes_;
  }
  size_t slots() const {
    return begins_.size();
  }

  static constexpr uint64_t page_bytes = 4096;
  static constexpr uint64_t entry_bytes = 64;
  static constexpr uint64_t data_alignment = uint64_t{2} << 20;

private:
  std::vector<uint64_t> capacities_;
  std::vector<uint64_t> begins_;
  uint64_t file_bytes_ = 0;
};

using slot_header = std::array<std::byte, slot_layout::page_bytes>;
using slot_entry = std::array<std::byte, slot_layout::entry_bytes>;

slot_header make_slot_header(const slot_plan& plan, const slot_layout& layout);

/// Whether `found` is the header of `expected`, whatever its note says.
bool is_header_of(const slot_header& found, const slot_header& expected);

/// The note of any sound header; absent otherwise.
std::optional<std::string> note_of(const slot_header& x);

/// What a sealed slot holds.
struct slot_seal {
  uint64_t bytes = 0;
  checksum sum{};

  bool operator==(const slot_seal&) const = default;
};

slot_entry make_slot_entry(std::string_view identity, size_t index,
                           const slot_seal& x);

/// What slot `index` was sealed with; absent: it is empty, or its entry is
/// damaged, which is the same.
std::optional<slot_seal> read_slot_entry(const slot_entry& found,
                                         std::string_view identity,
                                         size_t index, uint64_t capacity);

} // namespace troupe
