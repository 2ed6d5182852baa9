// The third stage of a tokenizer: the tokens of one word.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/bpe_model.hpp"
#include "runtime/model/unigram_model.hpp"
#include "runtime/model/vocabulary.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// Working memory of `token_model::encode`: one per thread.
struct token_scratch {
  bpe_scratch bpe;
  unigram_scratch unigram;
};

/// The `model` of a tokenizer.json.
class token_model {
public:
  /// Reads it; its vocabulary goes to `vocab`.
  static result<token_model> from_json(const nlohmann::json& x,
                                       alphabet letters, vocabulary& vocab);

  /// Appends the tokens of `word` (any bytes) to `out`.
  result<void> encode(std::string_view word, const vocabulary& vocab,
                      token_scratch& scratch, std::vector<token_id>& out) const;

  /// See `bpe_model::cuts_before`.
  bool cuts_before(std::string_view mark, const vocabulary& vocab) const;

private:
  std::variant<bpe_model, unigram_model> model_;
};

} // namespace troupe
