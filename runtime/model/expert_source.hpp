// Reads the matrices of one expert, and only these bytes: of a tensor that has
// all experts of a layer, the piece that is this one's.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/opened_model.hpp"
#include "runtime/model/stored_matrix.hpp"

namespace troupe {

/// One expert in one form, however the checkpoint keeps it. I = expert_size,
/// H = hidden_size.
struct expert_matrices {
  stored_matrix gate; ///< [I, H]
  stored_matrix up;   ///< [I, H]
  stored_matrix down; ///< [H, I]
  /// [1, I], [1, I] and [1, H]; no bytes without biases.
  host_tensor gate_bias;
  host_tensor up_bias;
  host_tensor down_bias;
};

/// Fails with invalid_argument (no such layer or expert), io or bad_format.
/// Any thread.
result<expert_matrices> read_expert(const opened_model& model,
                                    layer_index layer, expert_id expert);

/// Bytes `read_expert` reads. @pre the layer has that expert
uint64_t expert_storage_bytes(const opened_model& model, layer_index layer,
                              expert_id expert);

} // namespace troupe
