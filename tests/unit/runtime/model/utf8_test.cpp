#include "runtime/model/utf8.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

std::string repaired(std::string_view text) {
  std::string out;
  append_repaired(out, text);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(utf8_suite)

BOOST_AUTO_TEST_CASE(every_character_survives_writing_and_reading) {
  size_t wrong = 0;
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF)
      continue;
    std::string text;
    append_utf8(text, point);
    auto piece = first_utf8_piece(text);
    wrong += piece.kind != utf8_kind::valid || piece.point != point ||
             piece.length != text.size();
    for (size_t cut = 1; cut < text.size(); ++cut) {
      auto part = first_utf8_piece(std::string_view{text}.substr(0, cut));
      wrong += part.kind != utf8_kind::incomplete || part.length != cut;
    }
  }
  BOOST_TEST(wrong == 0u);
}

// The examples of the Unicode Standard, tables 3-8 to 3-11.
BOOST_AUTO_TEST_CASE(ill_formed_pieces_are_cut_as_the_standard_recommends) {
  const std::string r = "\xEF\xBF\xBD";
  BOOST_TEST(repaired("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41") ==
             r + r + r + r + r + r + r + r + "A");
  BOOST_TEST(repaired("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41") ==
             r + r + r + r + r + r + r + r + "A");
  BOOST_TEST(repaired("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42") ==
             r + r + r + r + r + "A" + r + r + "B");
  BOOST_TEST(repaired("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41") ==
             r + r + r + r + "A");
}

BOOST_AUTO_TEST_CASE(the_valid_start_ends_before_the_first_bad_byte) {
  BOOST_TEST(valid_utf8_length("") == 0u);
  BOOST_TEST(valid_utf8_length("ab\xC3\xA9") == 4u);
  BOOST_TEST(valid_utf8_length("ab\xC3") == 2u);
  BOOST_TEST(valid_utf8_length("\x80") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
