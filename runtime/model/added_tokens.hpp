// Tokens that are cut out of a text before anything else happens to it, such
// as "<|im_end|>". At each place the longest one counts.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/normalizer.hpp"
#include "runtime/model/vocabulary.hpp"

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
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

  /// Adds `pattern`, which stands for tokens[index].
  void add(std::string_view pattern, size_t index);

  /// Appends the sections of `text` to `out`. `tokens` is the list that the
  /// indexes mean; special ones are left in the text if `keep_special`.
  struct request {
    std::string_view text;
    const std::vector<added_token>* tokens;
    bool special_as_text;
  };
  void split(const request& x, std::vector<text_section>& out) const;

private:
  struct node {
    std::map<char, uint32_t> next;
    int32_t token = -1; // index of the token that ends here
  };
  struct match {
    size_t length = 0;
    int32_t token = -1;
  };

  match longest_at(std::string_view text) const;

  std::vector<node> nodes_ = std::vector<node>(1);
  std::array<bool, 256> starts_{};
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
