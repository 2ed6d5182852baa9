// The second stage of a tokenizer: cuts text into words, across whose ends no
// token reaches. A list of rules, each applied to the pieces of the one before
// (word_splitter.hpp does it).
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/regex.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
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

/// Cuts at the matches of a pattern.
struct pattern_rule {
  regex pattern;
  split_behavior behavior = split_behavior::isolated;
  bool invert = false; ///< Swaps what is matched and what is between.
};

/// Puts a space before a piece that does not begin with one.
struct prefix_space_rule {};

/// Which pieces get a mark in front, if they do not begin with one.
enum class mark_prefix : uint8_t { never, text_start, always };

/// Makes spaces marks, and cuts before each of them.
struct metaspace_rule {
  std::string mark;
  mark_prefix prefix = mark_prefix::always;
  bool cuts = true;
};

/// Cuts before each run of marks.
struct before_marks_rule {
  std::string mark;
};

using split_rule = std::variant<pattern_rule, prefix_space_rule, metaspace_rule,
                                before_marks_rule>;

/// The `pre_tokenizer` of a tokenizer.json: none, one rule or a sequence. If
/// there is a ByteLevel it is the last one.
class pre_tokenizer {
public:
  static result<pre_tokenizer> from_json(const nlohmann::json& x);

  const std::vector<split_rule>& rules() const {
    return rules_;
  }

  /// True if the vocabulary is written in the byte-level alphabet.
  bool is_byte_level() const {
    return byte_level_;
  }

  void add(split_rule x) {
    rules_.push_back(std::move(x));
  }

private:
  result<void> add(const std::string& type, const nlohmann::json& x);
  result<void> add_byte_level(const nlohmann::json& x);
  result<void> add_pattern(std::string_view pattern, split_behavior behavior);

  std::vector<split_rule> rules_;
  bool byte_level_ = false;
};

} // namespace troupe
