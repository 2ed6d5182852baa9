// The last stage of encoding: tokens put before and after those of the text.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/vocabulary.hpp"

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace troupe {

/// The `post_processor` of a tokenizer.json: none, ByteLevel (which changes no
/// ids), TemplateProcessing, BertProcessing and RobertaProcessing for a single
/// text, or a sequence of these.
class post_processor {
public:
  static result<post_processor> from_json(const nlohmann::json& x,
                                          const vocabulary& vocab);

  const std::vector<token_id>& before() const {
    return before_;
  }
  const std::vector<token_id>& after() const {
    return after_;
  }

private:
  result<void> add_template(const nlohmann::json& x, const vocabulary& vocab);
  result<void> add_pair(const nlohmann::json& x, const vocabulary& vocab);

  std::vector<token_id> before_;
  std::vector<token_id> after_;
};

} // namespace troupe
