// The way of one text from characters to ids, stage by stage (tokenizer.hpp
// draws it). What is not UTF-8 goes to the model byte by byte, past all other
// stages, and changes nothing in the text beside it.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/text_piece.hpp"
#include "runtime/model/tokenizer_tables.hpp"
#include "runtime/model/word_splitter.hpp"

#include <span>
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

/// Encodes one text. Holds scratch memory.
class text_encoder {
public:
  /// Longest stretch without a place to cut, in bytes.
  static constexpr size_t word_bytes_max = size_t{1} << 24;

  /// Appends to `out`.
  text_encoder(const tokenizer_tables& tables, std::vector<token_id>& out,
               size_t text_bytes);

  /// Encodes `text`. @pre called once; `stretches` cover `text`
  result<void> run(std::string_view text,
                   std::span<const text_stretch> stretches);

private:
  /// A part of the text, and what the stages must know of it.
  struct section {
    std::string_view text;
    text_place place;
    special_text inside;
  };

  result<void> raw_section(std::string_view text, size_t at,
                           std::span<const text_stretch> stretches);
  result<void> raw_text(section x);
  result<void> valid_text(const section& x);
  result<void> plain_text(std::string_view text, text_place place);
  result<void> word(std::string_view x);

  const tokenizer_tables& t_;
  // The cache's words point into these two.
  text_normalizer normalizer_;
  word_splitter splitter_;
  word_cache cache_;
  token_scratch scratch_;
  std::vector<token_id>& ids_;
};

} // namespace troupe
