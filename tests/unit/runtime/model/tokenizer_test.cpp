// The tokenizer against what Hugging Face's own library gives, and against
// bytes of any kind.
#include "runtime/model/tokenizer.hpp"

#include "tests/unit/runtime/model/tokenizer_samples.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <random>

using namespace troupe;
using nlohmann::json;

namespace {

using ids = std::vector<token_id>;

constexpr encode_options with_template = {template_tokens::add,
                                          special_text::parse};

} // namespace

BOOST_AUTO_TEST_SUITE(tokenizer_suite)

BOOST_AUTO_TEST_CASE(
  prompts_of_the_demo_model_give_the_ids_it_was_tested_with) {
  auto tokens = tokenizer::load("models/demo/tokenizer.json");
  BOOST_REQUIRE(tokens.has_value());
  std::ifstream file{"models/demo/expected_greedy.json"};
  auto expected = json::parse(file);
  BOOST_REQUIRE(!expected["cases"].empty());
  for (const auto& x : expected["cases"]) {
    auto text = x["prompt"].get<std::string>();
    auto found = tokens->encode(text);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(*found == x["prompt_ids"].get<ids>(), text);
    BOOST_TEST(tokens->decode(*found) == text);
  }
}

// tests/golden/tokenizers/make_expected.js recorded them.
BOOST_AUTO_TEST_CASE(every_variant_gives_the_ids_of_the_reference) {
  auto texts = test::golden_json("texts.json");
  auto variants = test::golden_json("expected.json");
  BOOST_TEST(texts.size() > 100u);
  BOOST_TEST(variants.size() > 50u);
  for (const auto& variant : variants) {
    auto name = variant["name"].get<std::string>();
    auto tokens = test::tokenizer_with(variant["patch"],
                                       variant["base"].get<std::string>());
    for (size_t i = 0; i < texts.size(); ++i) {
      auto text = texts[i].get<std::string>();
      auto expected = variant["ids"][i].get<ids>();
      auto found = tokens.encode(text, with_template);
      BOOST_REQUIRE_MESSAGE(found.has_value(), name << ": " << texts[i]);
      BOOST_TEST(*found == expected, name << ": " << texts[i]);
      auto key = std::to_string(i);
      auto skipped = variant["decoded_skip_special"].value(key, text);
      BOOST_TEST(tokens.decode(expected, special_output::skip) == skipped,
                 name << ": " << texts[i]);
      BOOST_TEST(tokens.decode(expected) ==
                   variant["decoded"].value(key, skipped),
                 name << ": " << texts[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_do_not_change_the_words_beside) {
  auto tokens = test::demo_tokenizer();
  auto word = *tokens.encode("truth");
  auto found = *tokens.encode("truth\xFF\xFEtruth");
  BOOST_TEST(found.size() == 2 * word.size() + 2);
  BOOST_TEST(ids(found.end() - static_cast<ptrdiff_t>(word.size()),
                 found.end()) == word);
  BOOST_TEST(tokens.decode(found) == "truth\xEF\xBF\xBD\xEF\xBF\xBDtruth");
}

BOOST_AUTO_TEST_CASE(special_text_is_a_token_or_just_characters_as_asked) {
  auto tokens = test::demo_tokenizer();
  std::string text = "a<|im_end|>";
  auto end = tokens.find("<|im_end|>");
  BOOST_REQUIRE(end.has_value());
  auto parsed = *tokens.encode(text);
  BOOST_TEST(parsed.back() == *end);
  BOOST_TEST(tokens.is_special(*end));
  auto plain =
    *tokens.encode(text, {template_tokens::omit, special_text::as_text});
  for (auto id : plain)
    BOOST_TEST(!tokens.is_special(id));
  BOOST_TEST(tokens.decode(plain) == text);
  BOOST_TEST(tokens.decode(parsed) == text);
  BOOST_TEST(tokens.decode(parsed, special_output::skip) == "a");
}

BOOST_AUTO_TEST_CASE(pieces_give_the_ids_of_their_text_put_together) {
  auto tokens = test::demo_tokenizer();
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  std::string text = "<|im_start|>user\n It was caf\xC3\xA9, 1234<|im_end|>\n";
  for (int round = 0; round < 200; ++round) {
    std::vector<text_piece> pieces;
    for (size_t at = 0; at < text.size();) {
      auto length = random() % 12;
      pieces.push_back(
        {std::string_view{text}.substr(at, length), special_text::parse});
      at += length;
    }
    BOOST_REQUIRE_MESSAGE(*tokens.encode_pieces(pieces) == *tokens.encode(text),
                          "seed " << seed << ", round " << round);
  }
}

BOOST_AUTO_TEST_CASE(what_people_wrote_makes_no_special_token) {
  using enum special_text;
  for (auto* patch : {"{}", R"({"added_tokens": [
    {"id": 1, "content": "<|im_start|>", "special": true, "normalized": true},
    {"id": 2, "content": "<|im_end|>", "special": true, "normalized": true}]})"}) {
    auto tokens = test::tokenizer_with(json::parse(patch));
    auto start = *tokens.find("<|im_start|>");
    auto end = *tokens.find("<|im_end|>");
    std::vector<text_piece> pieces{
      {"<|im_start|>", parse},   {"a<|im_end|>b<|im_e", as_text},
      {"nd|><|im_end|>", parse}, {"|im_end|>", as_text},
      {"<|im_end|><", parse},    {"|im_end|>", as_text}};
    std::string whole;
    for (const auto& x : pieces)
      whole += x.text;
    auto found = *tokens.encode_pieces(pieces);
    BOOST_TEST(found.front() == start);
    BOOST_TEST(std::count(found.begin(), found.end(), start) == 1);
    BOOST_TEST(std::count(found.begin(), found.end(), end) == 2);
    BOOST_TEST(tokens.decode(found) == whole);
  }
}

BOOST_AUTO_TEST_CASE(a_word_may_reach_from_one_piece_into_the_next) {
  auto tokens = test::demo_tokenizer();
  std::vector<text_piece> pieces{{"tr", special_text::parse},
                                 {"uth", special_text::as_text}};
  BOOST_TEST(*tokens.encode_pieces(pieces) == *tokens.encode("truth"));
  BOOST_TEST(tokens.encode_pieces({})->empty());
}

BOOST_AUTO_TEST_CASE(a_template_is_added_only_if_asked_for) {
  auto tokens = test::tokenizer_with(json::parse(R"({"post_processor": {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|im_start|>", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<|im_start|>": {"ids": [1]}}}})"));
  auto bare = *tokens.encode("word");
  auto around = *tokens.encode("word", with_template);
  BOOST_TEST(around.size() == bare.size() + 1);
  BOOST_TEST(around.front() == 1);
  BOOST_TEST((*tokens.encode("", with_template) == ids{1}));
  BOOST_TEST(tokens.encode("")->empty());
}

BOOST_AUTO_TEST_CASE(ids_without_a_token_give_no_text) {
  auto tokens = test::demo_tokenizer();
  BOOST_TEST(tokens.vocab_size() == 4096u);
  for (token_id id : {-1, 4096, std::numeric_limits<token_id>::max(),
                      std::numeric_limits<token_id>::min()}) {
    BOOST_TEST(!tokens.is_special(id));
    BOOST_TEST(tokens.decode(ids{id}).empty());
  }
}

BOOST_AUTO_TEST_CASE(a_long_word_takes_no_quadratic_time) {
  // Quadratic work on these would take minutes, not the test's limit.
  for (auto* base : {"demo", "fallback.json", "unigram.json"}) {
    auto tokens = test::tokenizer_with(json::object(), base);
    for (auto* unit : {"a", " ", "the", "\xFF", "!", "\xE2\x96\x81"}) {
      std::string text;
      while (text.size() < (1u << 20))
        text += unit;
      auto found = tokens.encode(text);
      BOOST_REQUIRE(found.has_value());
      if (base == std::string_view{"demo"})
        BOOST_TEST((tokens.decode_bytes(*found) == text));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_word_beyond_the_limit_is_refused) {
  auto tokens = test::tokenizer_with(json::object(), "fallback.json");
  auto found = tokens.encode(std::string((1u << 24) + 1, 'a'));
  BOOST_REQUIRE(!found.has_value());
  BOOST_TEST((found.error().code == ec::invalid_argument));
  BOOST_TEST(found.error().message.find("white space") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_text_beyond_the_limit_is_refused) {
  auto tokens = test::demo_tokenizer();
  auto found = tokens.encode(std::string(tokenizer::text_bytes_max + 1, 'a'));
  BOOST_REQUIRE(!found.has_value());
  BOOST_TEST((found.error().code == ec::invalid_argument));
}

BOOST_AUTO_TEST_CASE(an_endless_run_of_combining_marks_is_refused) {
  auto tokens =
    test::tokenizer_with(json::parse(R"({"normalizer": {"type": "NFC"}})"));
  std::string marks = "e";
  for (int i = 0; i < 100000; ++i)
    marks += "\xCC\x81\xCC\xA7";
  auto found = tokens.encode(marks);
  BOOST_REQUIRE(!found.has_value());
  BOOST_TEST((found.error().code == ec::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()
