#include "runtime/model/expert_source.hpp"

namespace troupe {

result<expert_matrices> read_expert(const opened_model& model,
                                    layer_index layer, expert_id expert) {
  auto& config = model.config;
  if (layer.value >= config.num_layers ||
      config.layers[layer.value].ffn != ffn_kind::moe)
    return fail(ec::invalid_argument, "{}: layer {} has no experts",
                model.folder, layer.value);
  if (expert.value >= config.router.num_experts)
    return fail(ec::invalid_argument,
                "{}: expected an expert below {}, found {}", model.folder,
                config.router.num_experts, expert.value);
  auto load = [&](std::string_view role) {
    return model.files.load(model.tensors.name(role, layer, expert));
  };
  auto gate = load("expert_gate");
  if (!gate)
    return tl::unexpected(std::move(gate).error());
  auto up = load("expert_up");
  if (!up)
    return tl::unexpected(std::move(up).error());
  auto down = load("expert_down");
  if (!down)
    return tl::unexpected(std::move(down).error());
  return expert_matrices{std::move(*gate), std::move(*up), std::move(*down)};
}

uint64_t expert_storage_bytes(const opened_model& model, layer_index layer,
                              expert_id expert) {
  uint64_t sum = 0;
  for (auto role : {"expert_gate", "expert_up", "expert_down"})
    sum += model.files.find(model.tensors.name(role, layer, expert))->bytes;
  return sum;
}

} // namespace troupe
