// The second stage of a tokenizer: cuts text into words, across whose ends no
// token reaches. A list of rules, each applied to the pieces of the one before.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/regex.hpp"

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What becomes of the matches of a pattern. In "a-b", split at "-":
enum class split_behavior : uint8_t {
  removed,              ///< a|b
  isolated,             ///< a|-|b
  merged_with_previous, ///< a-|b
  merged_with_next,     ///< a|-b
  contiguous,           ///< as isolated, but neighbouring matches are one piece
};

/// One rule: at each piece, first perhaps a space in front, then perhaps cuts.
struct split_rule {
  bool prefix_space = false; ///< Puts a space before a piece without one.
  std::optional<regex> pattern;
  split_behavior behavior = split_behavior::isolated;
  bool invert = false; ///< Swaps what is matched and what is between.
};

/// The `pre_tokenizer` of a tokenizer.json: Split, Digits and ByteLevel (which
/// must be the last one), alone or in a sequence.
class pre_tokenizer {
public:
  static result<pre_tokenizer> from_json(const nlohmann::json& x);

  const std::vector<split_rule>& rules() const {
    return rules_;
  }

private:
  result<void> add(const nlohmann::json& x);
  result<void> add_byte_level(const nlohmann::json& x);

  std::vector<split_rule> rules_;
  bool byte_level_ = false;
};

/// Cuts texts by a pre_tokenizer. Holds scratch memory: one per thread.
class word_splitter {
public:
  explicit word_splitter(const pre_tokenizer& rules);

  /// Returns the words of `text`, in order, none empty. They point into
  /// `text` or into this object, which keeps them. The list is valid until
  /// the next call. @pre `text` is valid UTF-8 and outlives the words.
  result<const std::vector<std::string_view>*> split(std::string_view text);

private:
  struct piece {
    text_range range;
    bool is_match = false;
  };

  result<void> apply(const split_rule& rule, regex_scanner* scanner,
                     std::string_view text);
  result<void> find_pieces(regex_scanner& scanner, std::string_view text,
                           bool invert);
  void put(std::string_view text, split_behavior behavior);

  const pre_tokenizer* rules_;
  std::vector<std::optional<regex_scanner>> scanners_; // one per rule
  std::vector<piece> pieces_;
  std::vector<std::string_view> words_;
  std::vector<std::string_view> next_words_;
  std::deque<std::string> prefixed_; // texts that got a space in front
};

} // namespace troupe
