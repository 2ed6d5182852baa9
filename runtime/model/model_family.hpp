// A model family as data: where config.json says each number, which properties
// the family has, and what its tensors are called. The files are
// config/models/*.toml; they are embedded in the program, and a folder may
// replace or add some.
#pragma once

#include "config/toml_reader.hpp"
#include "runtime/error.hpp"
#include "runtime/model/model_config.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Name pattern and symbolic shape of one kind of tensor, as in
/// ["model.layers.{layer}.mlp.gate.weight", "num_experts", "hidden_size"].
struct tensor_pattern {
  std::string name;               ///< With {layer} and {expert}.
  std::vector<std::string> shape; ///< Names of sizes, outermost first.
};

struct model_family {
  std::string name;
  std::string source; ///< File it was read from, for messages.
  std::vector<std::string> architectures;
  std::vector<std::string> model_types;
  std::string gguf; ///< general.architecture

  /// Our name -> paths in config.json, the first present one counts.
  std::map<std::string, std::vector<std::string>> keys;
  /// Our name -> value when config.json has none of the paths.
  std::map<std::string, toml_scalar> defaults;
  /// Path in config.json -> the only value that is built.
  std::map<std::string, toml_scalar> only;

  // Properties; a boolean that `keys` also names is the default of that key.
  mixer_kind mixer = mixer_kind::gqa;
  bool qk_norm = false;
  bool qkv_bias = false;
  bool output_bias = false;
  kernels::rope_pairs rope = kernels::rope_pairs::half_split;
  kernels::router_score score = kernels::router_score::softmax;
  bool normalize = false;

  /// Role ("embedding", "expert_gate", ...) -> pattern.
  std::map<std::string, tensor_pattern> tensors;
  /// Patterns ("*" matches anything) of tensors that may exist unused.
  std::vector<std::string> ignored_tensors;
};

/// Parses one family file. Fails like every strict TOML reader.
result<model_family> parse_model_family(std::string_view text,
                                        std::string name);

/// The families this process knows.
class family_catalog {
public:
  /// The embedded files. Never fails: a test reads each of them.
  static family_catalog built_in();

  /// The embedded files, replaced or extended by each FOLDER/*.toml.
  static result<family_catalog> with_folder(const std::string& folder);

  /// By architecture first, then by model type; nullptr if unknown.
  const model_family* find(std::string_view architecture,
                           std::string_view model_type) const;

  const model_family* find(std::string_view family_name) const;

  /// Names in alphabetical order.
  std::vector<std::string> names() const;

private:
  std::map<std::string, model_family> families_;
};

} // namespace troupe
