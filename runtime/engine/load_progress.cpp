#include "runtime/engine/load_progress.hpp"

#include "runtime/model/model_facts.hpp"

#include <algorithm>

namespace troupe {

uint32_t load_progress::percent() const {
  if (bytes_total == 0)
    return 0;
  auto share =
    static_cast<double>(bytes_done) / static_cast<double>(bytes_total);
  if (bytes_done >= bytes_total)
    return 100;
  return std::min(static_cast<uint32_t>(share * 100), uint32_t{99});
}

uint64_t bytes_to_load(const opened_model& model, load_scope scope) {
  auto facts = facts_of(model);
  auto bytes = facts.backbone_bytes;
  // A tied embedding is read once to look rows up and once to multiply with.
  if (model.config.tied_embeddings)
    bytes += model.files.find(model.tensors.name("embedding"))->bytes;
  return scope == load_scope::backbone ? bytes : bytes + facts.experts_bytes;
}

} // namespace troupe
