// See byte_level.hpp.
#include "runtime/model/byte_level.hpp"

#include "runtime/model/utf8.hpp"

#include <array>

namespace troupe {

namespace {

struct alphabet {
  std::array<std::string, 256> characters;
  std::array<int16_t, 0x200> bytes; // by code point; -1: not in the alphabet

  alphabet() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      bool printable = (byte >= 0x21 && byte <= 0x7E) ||
                       (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      char32_t point = printable ? byte : next++;
      append_utf8(characters[byte], point);
      bytes[point] = static_cast<int16_t>(byte);
    }
  }
};

const alphabet& the_alphabet() {
  static const alphabet instance;
  return instance;
}

} // namespace

std::string_view byte_level_character(uint8_t byte) {
  return the_alphabet().characters[byte];
}

std::string to_byte_level(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes)
    out += byte_level_character(static_cast<uint8_t>(c));
  return out;
}

std::string from_byte_level(std::string_view written) {
  const auto& bytes = the_alphabet().bytes;
  std::string out;
  for (auto rest = written; !rest.empty();) {
    auto piece = first_utf8_piece(rest);
    if (piece.kind != utf8_kind::valid || piece.point >= bytes.size() ||
        bytes[piece.point] < 0)
      return std::string{written};
    out.push_back(static_cast<char>(bytes[piece.point]));
    rest.remove_prefix(piece.length);
  }
  return out;
}

} // namespace troupe
