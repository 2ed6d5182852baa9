// Unigram encoding of one word: of all ways to spell it with tokens the one
// with the largest sum of scores (Viterbi's algorithm, from left to right).
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/byte_trie.hpp"
#include "runtime/model/vocabulary.hpp"

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

/// Working memory of `unigram_model::encode`: one per thread.
struct unigram_scratch {
  /// The best way to spell the word up to some place, by its last token.
  struct node {
    double score = 0;
    int32_t begin = -1; // of the last token; -1: no way found yet
    token_id id = -1;
  };
  struct part {
    int32_t begin;
    int32_t end;
    bool is_unknown;
  };

  std::vector<node> nodes; // by place, in bytes
  std::vector<part> parts; // of the best way
};

/// The `model` of type "Unigram".
class unigram_model {
public:
  static constexpr size_t token_bytes_max = 1024;

  /// Reads `model` of a tokenizer.json; its vocabulary goes to `vocab`.
  static result<unigram_model> from_json(const nlohmann::json& x,
                                         vocabulary& vocab);

  /// Appends the tokens of `word` (any bytes) to `out`. Neighbouring unknown
  /// characters are one: their bytes' tokens if the model falls back to
  /// bytes, else the unknown token. Fails on those if there is none.
  result<void> encode(std::string_view word, unigram_scratch& scratch,
                      std::vector<token_id>& out) const;

private:
  result<void> read_vocabulary(const nlohmann::json& list, vocabulary& vocab);
  result<void> read_unknown(const nlohmann::json& x);
  result<void> find_best(std::string_view word, unigram_scratch& scratch) const;
  void list_parts(std::string_view word, unigram_scratch& scratch) const;
  void put(std::string_view part, std::vector<token_id>& out) const;

  byte_trie tokens_;
  std::vector<double> scores_; // by id
  double unknown_score_ = 0;
  std::optional<token_id> unknown_;
  std::array<token_id, 256> byte_ids_{}; // -1: not in the vocabulary
  bool byte_fallback_ = false;
};

} // namespace troupe
