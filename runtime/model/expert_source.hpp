// Reads the three matrices of one expert, and only these bytes.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/opened_model.hpp"
#include "runtime/model/tensor_info.hpp"

namespace troupe {

/// One expert as stored. I = expert_size, H = hidden_size.
struct expert_matrices {
  host_tensor gate; ///< [I, H]
  host_tensor up;   ///< [I, H]
  host_tensor down; ///< [H, I]
};

/// Fails with invalid_argument (no such layer or expert), io or bad_format.
/// Any thread.
result<expert_matrices> read_expert(const opened_model& model,
                                    layer_index layer, expert_id expert);

/// Bytes `read_expert` reads. @pre the layer has that expert
uint64_t expert_storage_bytes(const opened_model& model, layer_index layer,
                              expert_id expert);

} // namespace troupe
