// Where `generate` gets its prompts from: --prompt, --prompt-file, --prompts
// (JSON lines) or --ids.
#pragma once

#include "runtime/engine/request_ledger.hpp"
#include "runtime/model/tokenizer.hpp"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cli {

struct prompt_arguments {
  std::string prompt;
  std::string prompt_file;
  std::string prompts_file;
  std::string ids;

  void declare(CLI::App& app);

  /// True when the prompts came from a list: answers are then numbered.
  bool many() const {
    return !prompts_file.empty();
  }
};

/// Reads all prompts; every request gets a copy of `params`. A line of
/// --prompts is {"prompt": TEXT} or {"ids": [...]}, and may hold "seed" and
/// "max_tokens" of its own.
result<std::vector<generation_request>>
read_prompts(const prompt_arguments& x, const std::optional<tokenizer>& text,
             const sampling_params& params);

} // namespace troupe::cli
