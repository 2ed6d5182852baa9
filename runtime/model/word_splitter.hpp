// Cuts texts into words by the rules of a pre_tokenizer.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/normalizer.hpp"
#include "runtime/model/pre_tokenizer.hpp"
#include "runtime/model/regex.hpp"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Holds scratch memory: one per thread.
class word_splitter {
public:
  /// `rules` outlive this object.
  explicit word_splitter(const pre_tokenizer& rules);

  /// Returns the words of `text`, in order, none empty. They point into
  /// `text` or into this object, which keeps them. The list is valid until
  /// the next call. @pre `text` is valid UTF-8 and outlives the words.
  result<const std::vector<std::string_view>*> split(std::string_view text,
                                                     text_place place);

private:
  struct piece {
    text_range range;
    bool is_match = false;
  };

  result<void> apply(size_t i, std::string_view text, text_place place);
  void prefix_space(std::string_view text, text_place place);
  void metaspace(const metaspace_rule& rule, std::string_view text,
                 text_place place);
  void before_marks(const before_marks_rule& rule, std::string_view text);
  result<void> find_pieces(regex_scanner& scanner, std::string_view text,
                           bool invert);
  void put(std::string_view text, split_behavior behavior);

  const pre_tokenizer* rules_;
  std::vector<std::optional<regex_scanner>> scanners_; // one per rule
  std::vector<piece> pieces_;
  std::vector<std::string_view> words_;
  std::vector<std::string_view> next_words_;
  std::deque<std::string> rewritten_; // texts that are not as they came
};

} // namespace troupe
