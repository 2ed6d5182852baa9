// Everything a tokenizer.json says, read and checked. Immutable once made.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/added_tokens.hpp"
#include "runtime/model/normalizer.hpp"
#include "runtime/model/post_processor.hpp"
#include "runtime/model/pre_tokenizer.hpp"
#include "runtime/model/token_decoder.hpp"
#include "runtime/model/token_model.hpp"
#include "runtime/model/vocabulary.hpp"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace troupe {

struct tokenizer_tables {
  vocabulary vocab;
  normalizer normal;
  pre_tokenizer words;
  token_model model;
  post_processor around;
  added_tokens added;
  token_decoder decoder;
  // By id:
  std::vector<std::string> texts; ///< Decoded, but for the first of a text.
  std::vector<int16_t> fallback_bytes; ///< -1: stands for no byte.
  std::vector<uint8_t> is_special;

  /// Reads the object of a whole file.
  static result<std::shared_ptr<const tokenizer_tables>>
  from_json(const nlohmann::json& x);

private:
  void list_tokens();
};

} // namespace troupe
