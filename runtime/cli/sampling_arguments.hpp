// The sampling options of the command line, over the model's own defaults.
#pragma once

#include "runtime/engine/sampling_params.hpp"
#include "runtime/model/generation_config.hpp"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cli {

/// What the model's generation_config.json asks for.
sampling_params sampling_defaults(const generation_config& model);

struct sampling_arguments {
  std::optional<uint32_t> max_tokens;
  std::optional<float> temperature;
  std::optional<uint32_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  uint64_t seed = 0;
  std::vector<std::string> stop;
  bool ignore_eos = false;

  void declare(CLI::App& app);

  /// Fails with invalid_argument naming the option.
  result<sampling_params> params(const generation_config& model) const;
};

} // namespace troupe::cli
