// What the `decoder` of a tokenizer.json makes of tokens. Its components are
// sorted into three parts, since that is how all families order them:
//
//   spelling -> [each: token by token] -> [runs: ByteFallback]
//            -> [late: token by token] -> [join: ByteLevel or Fuse]
//            -> [whole: on the text that results]
//
// decode_stream.hpp runs them.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/pattern_json.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// Puts `content` in place of each match.
struct decoder_replace {
  text_pattern pattern;
  std::string content;
};

/// Takes up to `start` and `stop` of `character` off the ends.
struct decoder_strip {
  std::string character;
  size_t start = 0;
  size_t stop = 0;
};

/// Makes marks spaces again, and drops those of the first token if the
/// encoder puts one there.
struct decoder_metaspace {
  std::string mark;
  bool drops_first = true;
};

using decoder_step =
  std::variant<decoder_replace, decoder_strip, decoder_metaspace>;

/// How tokens become one text.
enum class token_join : uint8_t {
  tokens, ///< They are put together; each is a text already.
  bytes,  ///< As bytes, in the byte-level alphabet.
};

/// The `decoder` of a tokenizer.json.
class token_decoder {
public:
  static result<token_decoder> from_json(const nlohmann::json& x);

  /// Which token it is: something is dropped from the first one only.
  enum class position : uint8_t { first, later };

  /// What the part before ByteFallback makes of a spelling.
  std::string each(std::string_view spelling, position at) const;

  /// What the part after it makes of a token.
  std::string late(std::string_view token, position at) const;

  /// The byte of "<0x41>" and the like; -1 if it is none, or if there is no
  /// ByteFallback. @pre `token` comes from `each`
  int16_t fallback_byte(std::string_view token) const;

  token_join join() const {
    return join_;
  }

  const std::vector<decoder_step>& whole() const {
    return whole_;
  }

private:
  result<void> add(const std::string& type, const nlohmann::json& x);
  result<void> add_step(const std::string& type, decoder_step x);

  std::vector<decoder_step> each_;
  std::vector<decoder_step> late_;
  std::vector<decoder_step> whole_; // Strip, and Replace of one character
  token_join join_ = token_join::tokens;
  bool byte_fallback_ = false;
  bool joined_ = false;
};

/// Returns `text` with all `from` made `to`. @pre `from` is not empty
std::string replaced(std::string_view text, std::string_view from,
                     std::string_view to);

} // namespace troupe
