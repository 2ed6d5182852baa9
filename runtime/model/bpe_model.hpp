// Byte-pair encoding of one word: starting from its bytes or characters, the
// pair of neighbours with the lowest merge rank (the leftmost of equals)
// becomes one token, until no pair has a rank.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/merge_table.hpp"
#include "runtime/model/vocabulary.hpp"

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

/// What a vocabulary is written in.
enum class alphabet : uint8_t {
  bytes,      ///< One character per byte of the text (byte_level.hpp).
  characters, ///< The text's own.
};

/// The `model` of type "BPE".
class bpe_model {
public:
  /// Reads `model` of a tokenizer.json; its vocabulary goes to `vocab`.
  static result<bpe_model> from_json(const nlohmann::json& x, alphabet letters,
                                     vocabulary& vocab);

  /// Appends the tokens of `word` (any bytes) to `out`. Takes
  /// O(n log n) steps for n bytes. Fails on what has no token.
  result<void> encode(std::string_view word, const vocabulary& vocab,
                      bpe_scratch& scratch, std::vector<token_id>& out) const;

  /// True if a text may as well be encoded in parts that begin at runs of
  /// `mark`: no token has a mark after anything else.
  bool cuts_before(std::string_view mark, const vocabulary& vocab) const;

private:
  result<void> read_options(const nlohmann::json& x);
  result<void> read_unknown(const nlohmann::json& x, const vocabulary& vocab);
  result<void> read_bytes(const vocabulary& vocab);
  void read_characters(const vocabulary& vocab);
  result<void> read_merges(const nlohmann::json& list, const vocabulary& vocab);
  result<void> add_merge(const nlohmann::json& x, uint32_t rank,
                         const vocabulary& vocab);
  result<void> start_bytes(std::string_view word,
                           std::vector<token_id>& out) const;
  result<void> start_characters(std::string_view word,
                                std::vector<token_id>& out) const;
  token_id character_id(char32_t point) const;
  bool put_bytes(std::string_view character, std::vector<token_id>& out) const;

  alphabet letters_ = alphabet::bytes;
  // Of bytes: the alphabet's characters, or "<0x00>" and so on to fall back to.
  std::array<token_id, 256> byte_ids_{}; // -1: not in the vocabulary
  std::array<token_id, 128> ascii_ids_{};
  std::unordered_map<char32_t, token_id> character_ids_; // the others
  std::optional<token_id> unknown_;
  bool byte_fallback_ = false;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false; // a whole word in the vocabulary is a token
  merge_table merges_;
};

} // namespace troupe
