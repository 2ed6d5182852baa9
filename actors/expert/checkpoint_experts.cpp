#include "actors/expert/checkpoint_experts.hpp"

#include "runtime/engine/layer_experts.hpp"

#include <utility>

namespace troupe {

std::shared_ptr<expert_store>
open_expert_store(model_ptr model, kernels::compute_options options,
                  uint64_t bytes_max) {
  auto bytes = packed_expert_bytes(model->config, options);
  return std::make_shared<expert_store>(
    expert_store::options{bytes_max, bytes},
    [model = std::move(model),
     options](layer_index layer, expert_id expert) -> result<expert_ptr> {
      auto loaded = packed_expert::load(*model, layer, expert, options);
      if (!loaded)
        return tl::unexpected(std::move(loaded.error()));
      auto& ffn = (*loaded)->ffn();
      return expert_ptr{std::move(*loaded), &ffn};
    });
}

} // namespace troupe
