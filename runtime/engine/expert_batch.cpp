// Pairs are grouped by expert with a counting sort, so that each expert's
// weights are streamed once.
#include "runtime/engine/expert_batch.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <vector>

namespace troupe {

namespace {

/// Pairs in the order of their experts; within one expert as they came.
struct grouped_pairs {
  std::vector<uint32_t> begins; ///< [experts + 1] into the two below
  std::vector<uint32_t> rows;
  std::vector<uint32_t> slots; ///< the pair's index
  std::vector<float> weights;  ///< of the input
};

grouped_pairs group(std::span<const expert_pair> pairs) {
  uint32_t experts = 0;
  for (const auto& x : pairs)
    experts = std::max(experts, x.expert.value + 1);
  grouped_pairs out;
  out.begins.resize(experts + 1);
  for (const auto& x : pairs)
    ++out.begins[x.expert.value + 1];
  for (uint32_t e = 0; e < experts; ++e)
    out.begins[e + 1] += out.begins[e];
  auto next = out.begins;
  out.rows.resize(pairs.size());
  out.slots.resize(pairs.size());
  out.weights.resize(pairs.size());
  for (uint32_t i = 0; i < pairs.size(); ++i) {
    const auto at = next[pairs[i].expert.value]++;
    out.rows[at] = pairs[i].row;
    out.slots[at] = i;
    out.weights[at] = pairs[i].input_weight;
  }
  return out;
}

} // namespace

void run_expert_batch(kernels::activation_view rows,
                      std::span<const expert_pair> pairs,
                      const expert_lookup& experts, kernels::output_view out,
                      kernels::lanes& pool) {
  TROUPE_ASSERT(out.rows >= pairs.size() && out.cols == rows.cols);
  const auto groups = group(pairs);
  std::vector<kernels::expert_rows> work;
  for (uint32_t e = 0; e + 1 < groups.begins.size(); ++e) {
    const auto begin = groups.begins[e];
    const auto count = groups.begins[e + 1] - begin;
    if (count == 0)
      continue;
    const auto* expert = experts(expert_id{e});
    TROUPE_ASSERT(expert != nullptr);
    work.push_back({expert, std::span{groups.rows}.subspan(begin, count),
                    std::span{groups.slots}.subspan(begin, count),
                    std::span{groups.weights}.subspan(begin, count)});
  }
  if (!work.empty())
    kernels::moe_ffn(work, rows, out, pool);
}

} // namespace troupe
