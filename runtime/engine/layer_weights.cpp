#include "runtime/engine/layer_weights.hpp"

#include <initializer_list>

namespace troupe {

namespace {

using kernels::packed_weight;

uint64_t sum_of(std::initializer_list<const packed_weight*> weights) {
  uint64_t out = 0;
  for (const auto* x : weights)
    out += x->size_bytes();
  return out;
}

uint64_t bytes_of(const gqa_weights& x) {
  return sum_of({&x.q, &x.k, &x.v, &x.o, &x.gate});
}

uint64_t bytes_of(const mla_weights& x) {
  auto out = sum_of({&x.q, &x.q_a, &x.q_b, &x.kv_a, &x.o});
  for (const auto& head : x.key_up)
    out += head.size_bytes();
  for (const auto& head : x.value_up)
    out += head.size_bytes();
  return out;
}

uint64_t bytes_of(const short_conv_weights& x) {
  return sum_of({&x.in, &x.out});
}

uint64_t bytes_of(const gated_delta_weights& x) {
  return sum_of({&x.qkvz, &x.ba, &x.out});
}

} // namespace

uint64_t layer_weights::size_bytes() const {
  auto out = sum_of({&router, &shared_gate});
  out += std::visit([](const auto& x) { return bytes_of(x); }, mixer);
  if (shared)
    out += shared->size_bytes();
  if (dense)
    out += dense->size_bytes();
  return out;
}

} // namespace troupe
