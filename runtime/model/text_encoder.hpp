// The way of one text from characters to ids, stage by stage (tokenizer.hpp
// draws it). What is not UTF-8 goes to the model byte by byte, past all other
// stages, and changes nothing in the text beside it.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/text_piece.hpp"
#include "runtime/model/tokenizer_tables.hpp"

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The words of one text that were encoded already: a word met again costs a
/// comparison and a copy. Direct-mapped, so its size is bounded.
class word_cache {
public:
  struct entry {
    std::string_view word;
    size_t begin = 0; // its ids in the output
    size_t count = 0;
  };

  static constexpr size_t word_bytes_max = 128;

  explicit word_cache(size_t text_bytes);

  entry& slot_of(std::string_view word);

private:
  std::vector<entry> entries_; // a power of two of them
};

/// Encodes one text.
class text_encoder {
public:
  /// Appends to `out`.
  text_encoder(const tokenizer_tables& tables, std::vector<token_id>& out,
               size_t text_bytes);

  /// Encodes `text`. @pre called once; `stretches` cover `text`
  result<void> run(std::string_view text,
                   std::span<const text_stretch> stretches);

private:
  result<void> raw_section(std::string_view text, size_t at,
                           std::span<const text_stretch> stretches);
  result<void> raw_text(std::string_view text, special_text inside);
  result<void> valid_text(std::string_view text, special_text inside);
  result<void> plain_text(std::string_view text);
  result<void> word(std::string_view x);

  const tokenizer_tables& t_;
  word_splitter splitter_;
  word_cache cache_;
  bpe_scratch scratch_;
  std::deque<std::string> normalized_; // the cache's words point into it
  std::vector<token_id>& ids_;
};

} // namespace troupe
