// Defaults of sampling and the ids that end a text: generation_config.json,
// with config.json as the fallback for the ids.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct generation_config {
  std::vector<token_id> eos_ids; ///< Any of them ends the text; may be empty.
  std::optional<token_id> bos_id;
  bool do_sample = false;   ///< false: greedy unless the request says so.
  double temperature = 1.0; ///< >= 0
  uint32_t top_k = 0;       ///< 0: off.
  double top_p = 1.0;       ///< (0, 1]
  double min_p = 0.0;       ///< [0, 1]
};

/// Reads FOLDER/generation_config.json; without one, the ids of config.json.
/// Ids must be in [0, vocab_size).
result<generation_config> read_generation_config(const std::string& folder,
                                                 uint32_t vocab_size);

/// The same for the two texts; an empty `generation_json` means no such file.
result<generation_config>
parse_generation_config(std::string_view generation_json,
                        std::string_view config_json, const std::string& folder,
                        uint32_t vocab_size);

} // namespace troupe
