// The two ways of merging against a third one, written as the rule is told.
#include "runtime/model/bpe_model.hpp"

#include "runtime/model/byte_level.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <random>

using namespace troupe;
using nlohmann::json;

namespace {

/// All bytes, and random merges of tokens over the letters a, b, c.
json random_model(std::mt19937& random) {
  json x{{"type", "BPE"}, {"vocab", json::object()}};
  std::vector<std::string> spellings;
  for (unsigned byte = 0; byte < 256; ++byte)
    x["vocab"][std::string{byte_level_character(static_cast<uint8_t>(byte))}] =
      byte;
  for (auto* letter : {"a", "b", "c"})
    spellings.push_back(letter);
  x["merges"] = json::array();
  for (int i = 0; i < 40; ++i) {
    auto left = spellings[random() % spellings.size()];
    auto right = spellings[random() % spellings.size()];
    x["merges"].push_back({left, right});
    if (!x["vocab"].contains(left + right)) {
      x["vocab"][left + right] = x["vocab"].size();
      spellings.push_back(left + right);
    }
  }
  return x;
}

std::vector<token_id> merged_by_the_rule(const json& model,
                                         std::string_view word) {
  std::vector<std::string> parts;
  for (char c : word)
    parts.emplace_back(1, c);
  const auto& merges = model["merges"];
  while (true) {
    size_t best_rank = merges.size();
    size_t best_at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      for (size_t rank = merges.size(); rank-- > 0;)
        if (merges[rank][0] == parts[i] && merges[rank][1] == parts[i + 1]) {
          if (rank < best_rank) {
            best_rank = rank;
            best_at = i;
          }
          break; // of two equal merges the later one counts
        }
    if (best_rank == merges.size())
      break;
    parts[best_at] += parts[best_at + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best_at) + 1);
  }
  std::vector<token_id> out;
  for (const auto& part : parts)
    out.push_back(model["vocab"][part].get<token_id>());
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(bpe_model_suite)

BOOST_AUTO_TEST_CASE(short_and_long_words_follow_the_same_rule) {
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (int round = 0; round < 20; ++round) {
    auto x = random_model(random);
    vocabulary vocab;
    auto model = bpe_model::from_json(x, alphabet::bytes, vocab);
    BOOST_REQUIRE(model.has_value());
    bpe_scratch scratch;
    for (size_t length : {1u, 2u, 7u, 63u, 64u, 65u, 100u}) {
      std::string word;
      for (size_t i = 0; i < length; ++i)
        word += "abc"[random() % 3];
      std::vector<token_id> found;
      BOOST_REQUIRE(model->encode(word, vocab, scratch, found).has_value());
      BOOST_TEST(found == merged_by_the_rule(x, word),
                 "seed " << seed << ", word " << word);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_missing_byte_becomes_the_unknown_token) {
  json x = {{"vocab", {{"a", 0}, {"?", 1}}},
            {"merges", json::array()},
            {"unk_token", "?"},
            {"fuse_unk", true}};
  vocabulary vocab;
  bpe_scratch scratch;
  auto fused = bpe_model::from_json(x, alphabet::bytes, vocab);
  BOOST_REQUIRE(fused.has_value());
  std::vector<token_id> found;
  BOOST_REQUIRE(fused->encode("axya", vocab, scratch, found).has_value());
  BOOST_TEST((found == std::vector<token_id>{0, 1, 0}));
  x["fuse_unk"] = false;
  vocabulary again;
  auto single = bpe_model::from_json(x, alphabet::bytes, again);
  BOOST_REQUIRE(single.has_value());
  found.clear();
  BOOST_REQUIRE(single->encode("axya", again, scratch, found).has_value());
  BOOST_TEST((found == std::vector<token_id>{0, 1, 1, 0}));
}

BOOST_AUTO_TEST_CASE(a_text_is_cut_before_marks_only_if_no_token_crosses) {
  json x = {{"vocab", {{"a", 0}, {"_", 1}, {"_a", 2}, {"__", 3}}},
            {"merges", json::array({"_ a", "_ _"})}};
  auto cuts = [&] {
    vocabulary vocab;
    auto model = bpe_model::from_json(x, alphabet::characters, vocab);
    BOOST_REQUIRE(model.has_value());
    return model->cuts_before("_", vocab);
  };
  BOOST_TEST(cuts());
  x["ignore_merges"] = true; // a whole text may be a token
  BOOST_TEST(!cuts());
  x["ignore_merges"] = false;
  x["vocab"]["a_"] = 4;
  x["merges"].push_back("a _");
  BOOST_TEST(!cuts());
}

BOOST_AUTO_TEST_CASE(the_byte_alphabet_is_one_to_one) {
  std::string all;
  for (unsigned byte = 0; byte < 256; ++byte)
    all.push_back(static_cast<char>(byte));
  BOOST_TEST(from_byte_level(to_byte_level(all)) == all);
  BOOST_TEST(to_byte_level(" \n") == "\xC4\xA0\xC4\x8A");
  BOOST_TEST(from_byte_level("a b") == "a b"); // a space is no such character
}

BOOST_AUTO_TEST_SUITE_END()
