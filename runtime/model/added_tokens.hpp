// Tokens that are cut out of a text before anything else happens to it, such
// as "<|im_end|>". At each place the longest one counts.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/normalizer.hpp"
#include "runtime/model/text_piece.hpp"
#include "runtime/model/vocabulary.hpp"

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct added_token {
  token_id id = 0;
  std::string content;
  bool single_word = false; ///< Not within or beside a word.
  bool lstrip = false;      ///< Takes the white space before it along.
  bool rstrip = false;      ///< Takes the white space after it along.
  bool normalized = false;  ///< Looked for in the normalized text.
  bool special = false;     ///< A control token.
};

/// One part of a text: a token, or text that is still to be encoded.
struct text_section {
  const added_token* token = nullptr; ///< null: plain text
  std::string_view text;
};

/// Finds the tokens of one list in a text.
class added_token_matcher {
public:
  static constexpr size_t content_bytes_max = 1024;

  /// Adds `pattern`, which stands for `token`, tokens[index] of the list.
  void add(std::string_view pattern, size_t index, const added_token& token);

  /// Appends the sections of `text` to `out`. `tokens` is the list that the
  /// indexes mean. A special one counts only if all of it lies in a stretch
  /// that is parsed. @pre the last stretch ends where `text` does
  struct request {
    std::string_view text;
    std::span<const text_stretch> stretches;
    const std::vector<added_token>* tokens;
  };
  void split(const request& x, std::vector<text_section>& out) const;

  /// True if one of the patterns is a special token.
  bool has_special() const {
    return has_special_;
  }

private:
  struct node {
    std::map<char, uint32_t> next;
    int32_t token = -1; // index of the token that ends here
  };
  struct match {
    size_t length = 0;
    int32_t token = -1;
  };

  match longest_at(const request& x, size_t at, size_t stretch_end) const;

  std::vector<node> nodes_ = std::vector<node>(1);
  std::array<bool, 256> starts_{};
  bool has_special_ = false;
};

/// The `added_tokens` of a tokenizer.json.
class added_tokens {
public:
  /// Reads the list and adds the tokens to `vocab`.
  static result<added_tokens> from_json(const nlohmann::json& x,
                                        const normalizer& normal,
                                        vocabulary& vocab);

  const std::vector<added_token>& list() const {
    return list_;
  }
  const added_token_matcher& in_raw_text() const {
    return raw_;
  }
  const added_token_matcher& in_normalized_text() const {
    return normalized_;
  }

private:
  std::vector<added_token> list_;
  added_token_matcher raw_;
  added_token_matcher normalized_;
};

} // namespace troupe
