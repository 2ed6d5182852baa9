#include "actors/expert/checkpoint_experts.hpp"

#include "runtime/engine/layer_experts.hpp"

#include <utility>

namespace troupe {

std::shared_ptr<expert_store>
open_expert_store(std::shared_ptr<packed_images> images, uint64_t bytes_max) {
  auto bytes = packed_expert_bytes(images->model().config, images->options());
  return std::make_shared<expert_store>(
    expert_store::options{bytes_max, bytes},
    [images = std::move(images)](layer_index layer,
                                 expert_id expert) -> result<expert_ptr> {
      auto loaded = packed_expert::load(*images, layer, expert);
      if (!loaded)
        return tl::unexpected(std::move(loaded.error()));
      auto& ffn = (*loaded)->ffn();
      return expert_ptr{std::move(*loaded), &ffn};
    });
}

} // namespace troupe
