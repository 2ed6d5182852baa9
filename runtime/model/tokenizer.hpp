// Text to token ids and back, as described by a Hugging Face `tokenizer.json`:
//
//   text -> [added tokens cut out] -> normalizer -> pre_tokenizer -> model
//        -> post_processor -> ids -> decoder -> text
//
// Each stage is a type of its own. The models are BPE (of bytes, or of
// characters with a fall-back to bytes) and Unigram; a file that asks for a
// component that is not there is refused by that component's name.
// The text is bytes: what is not UTF-8 goes past the other stages to the model,
// which knows bytes (byte-level, byte fallback: they come back from
// `decode_bytes`) or takes them for unknown characters.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/text_piece.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Whether the post-processor's tokens (e.g. a begin-of-text) are added.
enum class template_tokens : uint8_t { omit, add };

/// Whether `decode` leaves special tokens out.
enum class special_output : uint8_t { keep, skip };

struct encode_options {
  template_tokens around = template_tokens::omit;
  special_text inside = special_text::parse;
};

class decode_stream;
struct tokenizer_tables;

/// A tokenizer. Immutable after `load`: any number of threads may use one.
/// Cheap to copy (copies share the tables).
class tokenizer {
public:
  /// Longest input of one `encode`, in bytes.
  static constexpr size_t text_bytes_max = size_t{64} << 20;
  /// Largest accepted `tokenizer.json`, in bytes.
  static constexpr size_t file_bytes_max = size_t{128} << 20;

  /// Reads and checks `tokenizer_json`. Fails with `not_found`/`io`,
  /// `bad_format` (names the field) or `unsupported` (names the component).
  static result<tokenizer> load(const std::filesystem::path& tokenizer_json);

  /// The same from the text of such a file.
  static result<tokenizer> parse(std::string_view json_text);

  /// Returns the ids of `text`. Fails if `text` is too long, or needs a byte
  /// that the vocabulary lacks, or exceeds the limits of the split pattern.
  result<std::vector<token_id>> encode(std::string_view text,
                                       encode_options options = {}) const;

  /// Returns the ids of the text that `pieces` are together, just as `encode`
  /// would, but special tokens are found only within the pieces (or runs of
  /// them) that say `parse`: for a chat template around what people wrote.
  result<std::vector<token_id>>
  encode_pieces(std::span<const text_piece> pieces,
                template_tokens around = template_tokens::omit) const;

  /// Returns the text of `ids` as valid UTF-8: what is no character becomes
  /// U+FFFD. Ids without a token (a model's padding rows) give no text.
  std::string decode(std::span<const token_id> ids,
                     special_output special = special_output::keep) const;

  /// The same before the repair of ill-formed UTF-8.
  std::string decode_bytes(std::span<const token_id> ids,
                           special_output special = special_output::keep) const;

  /// The same one id after the other.
  decode_stream stream(special_output special) const;

  /// True for control tokens, which `special_output::skip` leaves out.
  bool is_special(token_id id) const;

  /// The id of the token written exactly `content` in the file (added tokens
  /// such as "<|im_end|>" as one reads them), if there is one.
  std::optional<token_id> find(std::string_view content) const;

  /// Largest id + 1. A model's logits may have more columns than that.
  size_t vocab_size() const;

private:
  explicit tokenizer(std::shared_ptr<const tokenizer_tables> x);

  result<std::vector<token_id>>
  encode_stretches(std::string_view text,
                   std::span<const text_stretch> stretches,
                   template_tokens around) const;

  std::shared_ptr<const tokenizer_tables> tables_;
};

} // namespace troupe
