// Loads the tensors of one layer, or of what is outside the layers, by role.
// All of it goes through a tape, which records it or plays it back: then
// nothing is read. The first error is kept and ends the loading: callers read
// as lists of what there is.
#pragma once

#include "kernels/matmul.hpp"
#include "kernels/moe_ffn.hpp"
#include "runtime/engine/layer_weights.hpp"
#include "runtime/engine/weight_tape.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/opened_model.hpp"
#include "runtime/model/stored_matrix.hpp"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

/// Names of the three matrices of a feed-forward.
struct ffn_roles {
  std::string_view gate;
  std::string_view up;
  std::string_view down;
};

class weight_loader {
public:
  /// For a layer, or without one for the tensors outside. `model` and `tape`
  /// outlive the object.
  weight_loader(const opened_model& model, kernels::compute_options options,
                weight_tape& tape, std::optional<layer_index> layer)
    : model_(model), options_(options), tape_(tape), layer_(layer) {
    // nop
  }

  const model_config& config() const {
    return model_.config;
  }

  void load(kernels::packed_weight& out, std::string_view role);
  void load(std::vector<float>& out, std::string_view role);
  void load(kernels::weight_view& out, std::string_view role);
  void load(kernels::expert_ffn& out, const ffn_roles& roles);

  /// Weight, with 1 added where the checkpoint leaves it out, and the bias of a
  /// layer norm. `role` is that of the weight.
  void load_norm(norm_weights& out, std::string_view role);
  void load_norm(std::vector<float>& out, std::string_view role);

  /// Matrices made by `make` from others, with `read` and `pack`; what the tape
  /// plays back is not made again.
  void derive(const std::vector<kernels::packed_weight*>& outs,
              const std::function<void()>& make);

  /// A matrix in f32 or bf16, expanded if it is quantised; what is made of it
  /// goes to `pack`. Inside of `derive`.
  std::optional<stored_matrix> read(std::string_view role);

  /// Packs rows that were cut out of a matrix. Inside of `derive`.
  void pack(kernels::packed_weight& out, const stored_matrix& rows);

  std::optional<error> failure;

private:
  const std::string& name_of(std::string_view role) const;

  template <class T, class F>
  void take(T& out, F read);

  const opened_model& model_;
  kernels::compute_options options_;
  weight_tape& tape_;
  std::optional<layer_index> layer_;
};

} // namespace troupe
