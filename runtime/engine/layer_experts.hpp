// Resident experts of one MoE layer, packed: what an expert shard holds on a
// node, and what local experts are made of. Immutable once loaded.
#pragma once

#include "kernels/lanes.hpp"
#include "kernels/moe_ffn.hpp"
#include "runtime/engine/packed_images.hpp"
#include "runtime/error.hpp"
#include "runtime/model/opened_model.hpp"

#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace troupe {

// A packed expert is an image: bytes without addresses, which mean the same at
// any 64-byte boundary and in any process of one layout.

/// Bytes of the image of one expert.
uint64_t packed_expert_bytes(const model_config& config,
                             kernels::compute_options options);

/// Names what the bytes of an image mean; equal names (and one model) mean
/// exchangeable images.
std::string packed_expert_layout(kernels::compute_options options);

/// Reads one expert and makes its image in `memory`.
/// @pre `memory` is 64-byte aligned and has `packed_expert_bytes`.
/// Errors: those of `read_expert`.
result<void> pack_expert_into(std::span<std::byte> memory,
                              const opened_model& model, layer_index layer,
                              expert_id expert,
                              kernels::compute_options options);

/// The expert whose image is in `memory`, which must outlive it.
/// @pre `memory` is 64-byte aligned and has `packed_expert_bytes`.
kernels::expert_ffn view_expert(std::span<const std::byte> memory,
                                const model_config& config,
                                kernels::compute_options options);

/// One expert (an entry of a bounded expert store).
class packed_expert {
public:
  /// Errors: those of `packed_images::expert`.
  static result<std::shared_ptr<const packed_expert>>
  load(packed_images& images, layer_index layer, expert_id expert);

  const kernels::expert_ffn& ffn() const noexcept {
    return ffn_;
  }
  uint64_t size_bytes() const noexcept {
    return image_.bytes.size();
  }

private:
  packed_image image_;
  kernels::expert_ffn ffn_;
};

class layer_experts {
public:
  /// Loads `experts` on the lanes. Errors: those of `packed_images::expert`.
  static result<std::shared_ptr<const layer_experts>>
  load(packed_images& images, layer_index layer,
       std::span<const expert_id> experts, kernels::lanes& pool);

  /// nullptr when the expert is not held.
  const kernels::expert_ffn* find(expert_id expert) const;

  size_t size() const noexcept {
    return experts_.size();
  }
  uint64_t size_bytes() const noexcept;

private:
  std::unordered_map<expert_id, std::shared_ptr<const packed_expert>> experts_;
};

} // namespace troupe
