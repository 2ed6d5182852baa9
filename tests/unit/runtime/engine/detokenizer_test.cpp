#include "runtime/engine/detokenizer.hpp"

#include "runtime/model/utf8.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <vector>

using namespace troupe;

namespace {

tokenizer demo_tokenizer() {
  auto out = tokenizer::load("models/demo/tokenizer.json");
  BOOST_REQUIRE(out.has_value());
  return *out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(detokenizer_suite)

BOOST_AUTO_TEST_CASE(the_pieces_are_valid_and_add_up_to_the_whole_text) {
  auto tokens = demo_tokenizer();
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (int round = 0; round < 2000; ++round) {
    // Low ids are single bytes: many characters that never become whole.
    auto limit = round % 2 == 0 ? 300u : 4200u;
    auto special = round % 3 == 0 ? special_output::keep : special_output::skip;
    std::vector<token_id> ids;
    std::string text;
    detokenizer stream{tokens, special};
    for (unsigned i = 0; i < random() % 40; ++i) {
      ids.push_back(static_cast<token_id>(random() % limit));
      auto piece = stream.push(ids.back());
      BOOST_REQUIRE(valid_utf8_length(piece) == piece.size());
      text += piece;
    }
    text += stream.flush();
    BOOST_REQUIRE_MESSAGE(text == tokens.decode(ids, special),
                          "seed " << seed << ", round " << round);
  }
}

BOOST_AUTO_TEST_CASE(a_character_leaves_when_its_last_byte_is_there) {
  auto tokens = demo_tokenizer();
  auto ids = *tokens.encode("\xF0\x9F\x8E\xAD"); // U+1F3AD
  BOOST_REQUIRE(ids.size() > 1u);
  detokenizer stream{tokens};
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    BOOST_TEST(stream.push(ids[i]).empty());
  BOOST_TEST(stream.push(ids.back()) == "\xF0\x9F\x8E\xAD");
  BOOST_TEST(stream.flush().empty());
}

BOOST_AUTO_TEST_CASE(a_character_cut_short_ends_as_a_replacement) {
  auto tokens = demo_tokenizer();
  auto ids = *tokens.encode("\xF0\x9F\x8E");
  detokenizer stream{tokens};
  for (auto id : ids)
    BOOST_TEST(stream.push(id).empty());
  BOOST_TEST(stream.flush() == "\xEF\xBF\xBD");
  BOOST_TEST(stream.flush().empty());
}

BOOST_AUTO_TEST_CASE(special_tokens_are_left_out_unless_asked_for) {
  auto tokens = demo_tokenizer();
  auto end = *tokens.find("<|im_end|>");
  detokenizer hidden{tokens};
  BOOST_TEST(hidden.push(end).empty());
  detokenizer shown{tokens, special_output::keep};
  BOOST_TEST(shown.push(end) == "<|im_end|>");
}

BOOST_AUTO_TEST_SUITE_END()
