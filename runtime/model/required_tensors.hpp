// What tensors a recipe needs, by role, name and shape: the recipe says which
// roles, the family's file what they are called and how large they are.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/model_config.hpp"
#include "runtime/model/model_family.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The element types a tensor may be stored in.
enum class stored_as : uint8_t {
  floats,    ///< bf16, f16 or f32
  any,       ///< the same, or FP8 with scales beside it
  fp8,       ///< FP8 with scales beside it
  scales,    ///< of FP8: bf16, f16 or f32, or F8_E8M0
  raw_bytes, ///< U8: packed codes or scales
};

/// A tensor the model needs, by its full name.
struct required_tensor {
  std::string role; ///< Key of the family's [tensors].
  std::string name;
  std::vector<uint64_t> shape;
  stored_as type = stored_as::floats;
};

/// The roles a layer consists of outside its experts, in the order of the
/// forward pass.
std::vector<std::string_view> layer_roles(const model_config& config,
                                          const layer_recipe& layer);

/// The roles the experts of a layer consist of: one tensor for each expert
/// (separate layout), or for all of them.
std::vector<std::string_view> expert_roles(const expert_storage& experts);

/// Everything `config` needs outside the experts, in the order of the forward
/// pass. Fails with invalid_argument when the family names no such role.
result<std::vector<required_tensor>>
backbone_tensors(const model_config& config, const model_family& family);

/// The tensors with the weights of all experts of a layer; the errors of
/// `backbone_tensors`. @pre layer is a MoE layer of `config`
result<std::vector<required_tensor>> expert_tensors(const model_config& config,
                                                    const model_family& family,
                                                    layer_index layer);

/// A pattern's name with its layer and expert.
std::string full_name(std::string pattern, layer_index layer,
                      expert_id expert = {});

/// The name of the scales that stand beside a tensor in FP8.
std::string scale_name(std::string_view name);

} // namespace troupe
