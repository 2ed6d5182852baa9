// Looks numbers and properties up in config.json under the names a family file
// gives them, with type and range checked. Faults are collected; a value that
// is at fault reads as 0, false or "".
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/model_family.hpp"
#include "runtime/model/strict_json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The names that [keys] and [defaults] of a family file may use.
inline constexpr std::string_view config_key_names[]{
  "hidden_size",   "num_layers",   "vocab_size",
  "max_positions", "norm_eps",     "tied_embeddings",
  "heads",         "kv_heads",     "head_dim",
  "qk_norm",       "qkv_bias",     "output_bias",
  "rope_theta",    "rope_scaling", "partial_rotary_factor",
  "num_experts",   "top_k",        "normalize",
  "activation",    "dense_size",   "expert_size",
  "dense_layers",  "sparse_step",  "layer_types"};

class config_keys {
public:
  /// All three outlive the object. `name` is the file in messages.
  config_keys(const nlohmann::json& root, const model_family& family,
              const std::string& name);

  /// A whole number in [min, max]; missing without default is a fault.
  uint32_t whole(std::string_view key, uint32_t min, uint32_t max);

  /// The same, but nullopt when it is missing.
  std::optional<uint32_t> optional_whole(std::string_view key, uint32_t min,
                                         uint32_t max);

  /// A number in [min, max].
  double real(std::string_view key, double min, double max);

  /// `fallback` when missing.
  bool boolean(std::string_view key, bool fallback);

  std::string text(std::string_view key);

  /// A list of whole numbers in [0, max]; empty when missing.
  std::vector<uint32_t> whole_list(std::string_view key, uint32_t max);

  /// The value at `key`: the first path that is there and not null. Paths that
  /// are there with different values are a fault. nullptr when missing.
  const nlohmann::json* find(std::string_view key);

  /// The value at a path such as "rope_parameters.rope_theta"; null counts as
  /// absent.
  const nlohmann::json* at_path(std::string_view path) const;

  /// Adds a fault about `key` (shown as config.json calls it), or about any
  /// path of config.json.
  void refuse(ec code, std::string_view key, std::string_view what);

  bool good() const {
    return faults_.empty();
  }

  /// All faults as one error, with the code of the first.
  result<void> finish() const;

private:
  struct fault {
    ec code;
    std::string text;
  };

  const toml_scalar* default_of(std::string_view key) const;
  std::string their_name(std::string_view key) const;
  void refuse_type(std::string_view key, std::string_view expected,
                   const nlohmann::json& found);

  const nlohmann::json& root_;
  const model_family& family_;
  const std::string& name_;
  std::vector<fault> faults_;
};

} // namespace troupe
