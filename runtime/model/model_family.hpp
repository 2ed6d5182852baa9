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
  std::vector<std::string> shape; ///< Size expressions, outermost first.
};

/// What config.json calls a layer by what it mixes tokens with.
enum class layer_type : uint8_t { full, sliding, chunked, linear, conv };

/// Which layers turn queries and keys by their position.
enum class rope_rule : uint8_t {
  all,
  sliding, ///< Those with a sliding window.
  listed,  ///< As config.json lists them, or all but every n-th.
};

/// What layers are where config.json does not list them.
struct layer_rules {
  /// All but every `full_every`-th layer; all if there is no such number.
  layer_type between = layer_type::full;
  rope_rule rope = rope_rule::all;
};

struct model_family {
  std::string name;
  std::string source; ///< File it was read from, for messages.
  std::vector<std::string> architectures;
  std::vector<std::string> model_types;
  std::string gguf; ///< general.architecture

  /// Object of config.json that describes the text model of a larger one, and
  /// what its tensors' names then begin with.
  std::string nested_config;
  std::string nested_prefix;

  /// Our name -> paths in config.json, the first present one counts.
  std::map<std::string, std::vector<std::string>> keys;
  /// Our name -> value when config.json has none of the paths.
  std::map<std::string, toml_scalar> defaults;
  /// Path in config.json -> the only value that is built.
  std::map<std::string, toml_scalar> only;

  /// The recipe before config.json is read: what is a property of the family.
  model_config properties;
  mixer_kind mixer = mixer_kind::gqa; ///< Of layers that attend.
  /// The softmax scale takes yarn's factor in (kernels::rope_softmax_factor).
  bool softmax_factor = false;
  layer_rules layers;

  /// Role ("embedding", "expert_gate", ...) -> pattern.
  std::map<std::string, tensor_pattern> tensors;
  /// Patterns of tensors that may exist unused: "*" matches anything, and
  /// {beyond} the number of a layer that the recipe does not have.
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
