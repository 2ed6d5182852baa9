// Binds what a model needs (roles: "q_proj of layer 3") to the tensors of its
// checkpoint. Made once at load; by then every name exists, every shape and
// type fits, and no tensor is left over.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/checkpoint.hpp"
#include "runtime/model/model_config.hpp"
#include "runtime/model/model_family.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class tensor_map {
public:
  /// Fails with shape_mismatch when tensors are missing, left over, or of
  /// another shape or type; the message has all of them (up to a bound).
  static result<tensor_map> bind(const model_config& config,
                                 const model_family& family,
                                 const checkpoint& files);

  /// Full name of a tensor outside the layers; "lm_head" of a tied model is its
  /// embedding. @pre the model has it
  const std::string& name(std::string_view role) const;
  /// Full name of a layer's tensor. @pre the layer has it
  const std::string& name(std::string_view role, layer_index layer) const;
  /// Full name of an expert's tensor, or of the one that has all experts of the
  /// layer. @pre the layer has it
  std::string name(std::string_view role, layer_index layer,
                   expert_id expert) const;

  /// Every tensor outside the experts, each once, with its scales.
  std::vector<const tensor_info*> backbone(const checkpoint& files) const;

private:
  tensor_map(const model_config& config, const model_family& family);

  /// "role" or "role/LAYER" -> full name.
  std::map<std::string, std::string, std::less<>> names_;
  std::map<std::string, std::string, std::less<>> expert_patterns_;
};

} // namespace troupe
