// Viterbi's algorithm against a look at every way to spell a word.
#include "runtime/model/unigram_model.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <random>

using namespace troupe;
using nlohmann::json;

namespace {

using ids = std::vector<token_id>;

/// One way: its tokens, how many letters each part has, and the score.
struct way {
  double score = 0;
  ids tokens;
  std::vector<size_t> lengths;

  /// Of equal ways the one counts that is longer where they first differ,
  /// looked at from the end.
  bool is_better(const way& other) const {
    return score != other.score
             ? score > other.score
             : std::lexicographical_compare(other.lengths.rbegin(),
                                            other.lengths.rend(),
                                            lengths.rbegin(), lengths.rend());
  }
};

/// Tries all ways; letters without a token cost `unknown`.
class all_ways {
public:
  all_ways(const json& vocab, double unknown, std::string_view word)
    : vocab_(vocab), unknown_(unknown), word_(word) {
    go(0, {});
  }

  ids best_tokens() const {
    return best_.tokens;
  }

private:
  void go(size_t at, const way& so_far) {
    if (at == word_.size()) {
      if (!found_ || so_far.is_better(best_))
        best_ = so_far;
      found_ = true;
      return;
    }
    bool has_letter = false;
    for (size_t id = 0; id < vocab_.size(); ++id) {
      auto token = vocab_[id][0].get<std::string>();
      if (word_.substr(at, token.size()) != token)
        continue;
      has_letter = has_letter || token.size() == 1;
      auto next = so_far;
      next.score += vocab_[id][1].get<double>();
      next.tokens.push_back(static_cast<token_id>(id));
      next.lengths.push_back(token.size());
      go(at + token.size(), next);
    }
    if (has_letter)
      return;
    auto next = so_far;
    next.score += unknown_;
    next.lengths.push_back(1);
    if (next.tokens.empty() || next.tokens.back() != 0)
      next.tokens.push_back(0);
    go(at + 1, next);
  }

  const json& vocab_;
  double unknown_;
  std::string_view word_;
  bool found_ = false;
  way best_;
};

json random_vocabulary(std::mt19937& random, double& least) {
  json out = json::array();
  auto add = [&](const std::string& token) {
    auto score = -static_cast<double>(random() % 1000) / 64; // exact sums
    least = std::min(least, score);
    out.push_back({token, score});
  };
  add("<unk>");
  for (auto* letter : {"a", "b"}) // c and d are unknown
    add(letter);
  for (int i = 0; i < 12; ++i) {
    std::string token;
    for (size_t length = 2 + random() % 3; length > 0; --length)
      token += "abc"[random() % 3];
    bool is_new = true;
    for (const auto& x : out)
      is_new = is_new && x[0] != token;
    if (is_new)
      add(token);
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(unigram_model_suite)

BOOST_AUTO_TEST_CASE(the_best_of_all_ways_to_spell_a_word_is_found) {
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (int round = 0; round < 300; ++round) {
    double least = 0;
    auto list = random_vocabulary(random, least);
    vocabulary vocab;
    auto model =
      unigram_model::from_json({{"vocab", list}, {"unk_id", 0}}, vocab);
    BOOST_REQUIRE(model.has_value());
    unigram_scratch scratch;
    for (int i = 0; i < 5; ++i) {
      std::string word;
      for (size_t length = 1 + random() % 9; length > 0; --length)
        word += "aaabbbbcd"[random() % 9];
      ids found;
      BOOST_REQUIRE(model->encode(word, scratch, found).has_value());
      BOOST_TEST(found == all_ways(list, least - 10, word).best_tokens(),
                 "seed " << seed << ", word " << word << ", " << list);
    }
  }
}

BOOST_AUTO_TEST_CASE(of_equal_ways_the_one_with_the_longer_last_token_counts) {
  vocabulary vocab;
  auto model = unigram_model::from_json(
    json::parse(R"({"unk_id": 0, "vocab": [["<unk>", 0], ["a", -1], ["b", -1],
      ["c", -1], ["ab", -1], ["bc", -1]]})"),
    vocab);
  BOOST_REQUIRE(model.has_value());
  unigram_scratch scratch;
  ids found;
  BOOST_REQUIRE(model->encode("abc", scratch, found).has_value());
  BOOST_TEST((found == ids{1, 5}));
}

BOOST_AUTO_TEST_SUITE_END()
