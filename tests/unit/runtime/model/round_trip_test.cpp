// Bytes of any kind through tokenizers that lose nothing: they come back.
#include "runtime/model/tokenizer.hpp"
#include "tests/unit/runtime/model/tokenizer_samples.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace troupe;
using nlohmann::json;

namespace {

/// Any bytes, mostly text, mostly lead bytes, or spaces and small words.
std::string random_text(std::mt19937& random) {
  std::string text;
  auto length = random() % 64;
  auto kind = random() % 4;
  for (unsigned i = 0; i < length; ++i) {
    auto byte = random() % 256;
    if (kind == 1 && random() % 8 != 0)
      byte = 0x20 + byte % 0x5F;
    if (kind == 2 && random() % 2 != 0)
      byte |= 0xC0;
    if (kind == 3)
      byte = static_cast<uint8_t>("  the an\xC3\xA9"[random() % 10]);
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

/// Spaces are written as this mark, so it comes back as a space.
bool has_mark(const std::string& text) {
  return text.find("\xE2\x96\x81") != std::string::npos;
}

void check_round_trips(const tokenizer& tokens) {
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (int round = 0; round < 10000; ++round) {
    auto text = random_text(random);
    if (has_mark(text))
      continue;
    auto found = tokens.encode(text);
    BOOST_REQUIRE(found.has_value());
    BOOST_REQUIRE_MESSAGE(tokens.decode_bytes(*found) == text,
                          "seed " << seed << ", round " << round);
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(round_trip_suite)

BOOST_AUTO_TEST_CASE(bytes_come_back_from_byte_level_tokens) {
  check_round_trips(test::demo_tokenizer());
}

BOOST_AUTO_TEST_CASE(bytes_come_back_from_characters_that_fall_back_to_bytes) {
  check_round_trips(test::tokenizer_with(json::object(), "fallback.json"));
}

BOOST_AUTO_TEST_CASE(bytes_come_back_from_spaces_made_marks) {
  check_round_trips(test::tokenizer_with(json::parse(R"({"normalizer": null,
    "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581",
      "prepend_scheme": "never"},
    "decoder": {"type": "Sequence", "decoders": [{"type": "Metaspace",
      "replacement": "\u2581", "prepend_scheme": "never"},
      {"type": "ByteFallback"}]}})"),
                                         "fallback.json"));
}

BOOST_AUTO_TEST_CASE(bytes_come_back_from_the_likeliest_spelling) {
  auto x = test::base_json("unigram.json");
  json vocab = json::array();
  for (int byte = 0; byte < 256; ++byte)
    vocab.push_back({fmt::format("<0x{:02X}>", byte), -20});
  for (const auto& token : x["model"]["vocab"])
    vocab.push_back(token);
  x["added_tokens"] = json::array();
  x["normalizer"] = nullptr;
  x["post_processor"] = nullptr;
  x["pre_tokenizer"]["prepend_scheme"] = "never";
  x["model"] = {{"type", "Unigram"},
                {"unk_id", 258},
                {"vocab", vocab},
                {"byte_fallback", true}};
  x["decoder"]["prepend_scheme"] = "never";
  x["decoder"] = {{"type", "Sequence"},
                  {"decoders", {x["decoder"], {{"type", "ByteFallback"}}}}};
  auto tokens = tokenizer::parse(x.dump());
  BOOST_REQUIRE_MESSAGE(tokens, tokens.error().message);
  check_round_trips(*tokens);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_put_no_space_beside_them) {
  auto tokens = test::tokenizer_with(json::object(), "fallback.json");
  auto found = *tokens.encode("a\xFFz");
  BOOST_TEST(tokens.decode_bytes(found) == "a\xFFz");
  BOOST_TEST(tokens.decode(found) == "a\xEF\xBF\xBDz");
}

BOOST_AUTO_TEST_CASE(one_bad_byte_makes_a_run_of_byte_tokens_mistakes) {
  // As the library has it: all bytes of the run, not only the bad one.
  auto tokens = test::tokenizer_with(json::object(), "fallback.json");
  std::vector<token_id> run{*tokens.find("<0x41>"), *tokens.find("<0xFF>")};
  BOOST_TEST(tokens.decode(run) == "\xEF\xBF\xBD\xEF\xBF\xBD");
  run[1] = *tokens.find("<0x42>");
  BOOST_TEST(tokens.decode(run) == "AB");
}

BOOST_AUTO_TEST_SUITE_END()
