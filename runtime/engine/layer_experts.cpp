// An image is gate, up, down and biases, one after the other.
#include "runtime/engine/layer_experts.hpp"

#include "runtime/assert.hpp"
#include "runtime/engine/packing.hpp"
#include "runtime/model/expert_source.hpp"

#include <algorithm>
#include <optional>

namespace troupe {

namespace {

using kernels::packed_weight;

constexpr size_t alignment = kernels::aligned_buffer::alignment;

size_t padded(size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Takes the first `bytes` of `memory`.
template <class Byte>
std::span<Byte> cut(std::span<Byte>& memory, size_t bytes) {
  TROUPE_ASSERT(memory.size() >= padded(bytes));
  const auto out = memory.first(bytes);
  memory = memory.subspan(padded(bytes));
  return out;
}

result<void> pack_next(std::span<std::byte>& memory, const stored_matrix& x,
                       kernels::compute_options options) {
  const auto source = matrix_source::of(x);
  if (!source)
    return tl::unexpected{source.error()};
  const auto bytes = packed_weight::bytes_needed(source->shape(), options);
  source->pack_into(cut(memory, bytes), options);
  return {};
}

/// Biases follow the matrices, in f32.
result<void> store_next(std::span<std::byte>& memory, const host_tensor& x) {
  const auto source = weight_source::of(x);
  if (!source)
    return tl::unexpected{source.error()};
  const auto values = source->to_floats();
  const auto bytes = std::as_bytes(std::span{values});
  std::copy(bytes.begin(), bytes.end(), cut(memory, bytes.size()).begin());
  return {};
}

std::vector<float> view_next(std::span<const std::byte>& memory, size_t count) {
  std::vector<float> out(count);
  const auto bytes = cut(memory, count * sizeof(float));
  std::copy(bytes.begin(), bytes.end(),
            std::as_writable_bytes(std::span{out}).begin());
  return out;
}

uint64_t bias_bytes(const model_config& config) {
  if (!config.ffn.experts.bias)
    return 0;
  return 2 * padded(config.ffn.expert_size * sizeof(float)) +
         padded(config.hidden_size * sizeof(float));
}

} // namespace

uint64_t packed_expert_bytes(const model_config& config,
                             kernels::compute_options options) {
  const size_t hidden = config.hidden_size;
  const size_t inner = config.ffn.expert_size;
  const auto format = config.ffn.experts.format;
  const auto bytes = [&](size_t outputs, size_t inputs) {
    return padded(
      packed_weight::bytes_needed({outputs, inputs, format}, options));
  };
  return 2 * bytes(inner, hidden) + bytes(hidden, inner) + bias_bytes(config);
}

std::string packed_expert_layout(kernels::compute_options options) {
  // A model has one format; which one is a part of its digest.
  std::string out = "gate, up, down, biases:";
  for (auto format :
       {kernels::weight_format::plain, kernels::weight_format::fp8_block,
        kernels::weight_format::mxfp4})
    out += " " + packed_weight::layout(options, format);
  return out;
}

result<void> pack_expert_into(std::span<std::byte> memory,
                              const opened_model& model, layer_index layer,
                              expert_id expert,
                              kernels::compute_options options) {
  const auto stored = read_expert(model, layer, expert);
  if (!stored)
    return tl::unexpected{stored.error()};
  for (const auto* x : {&stored->gate, &stored->up, &stored->down})
    if (auto done = pack_next(memory, *x, options); !done)
      return done;
  if (!model.config.ffn.experts.bias)
    return {};
  for (const auto* x :
       {&stored->gate_bias, &stored->up_bias, &stored->down_bias})
    if (auto done = store_next(memory, *x); !done)
      return done;
  return {};
}

kernels::expert_ffn view_expert(std::span<const std::byte> memory,
                                const model_config& config,
                                kernels::compute_options options) {
  const auto next = [&](size_t outputs, size_t inputs) {
    const kernels::weight_shape shape{outputs, inputs,
                                      config.ffn.experts.format};
    const auto bytes = packed_weight::bytes_needed(shape, options);
    return packed_weight::view(cut(memory, bytes), shape, options);
  };
  const size_t hidden = config.hidden_size;
  const size_t inner = config.ffn.expert_size;
  kernels::expert_ffn out;
  out.gate = next(inner, hidden);
  out.up = next(inner, hidden);
  out.down = next(hidden, inner);
  if (config.ffn.experts.bias) {
    out.gate_bias = view_next(memory, inner);
    out.up_bias = view_next(memory, inner);
    out.down_bias = view_next(memory, hidden);
  }
  out.activation = config.ffn.activation;
  return out;
}

result<std::shared_ptr<const packed_expert>>
packed_expert::load(packed_images& images, layer_index layer,
                    expert_id expert) {
  auto image = images.expert(layer, expert);
  if (!image)
    return tl::unexpected{image.error()};
  auto out = std::make_shared<packed_expert>();
  out->image_ = std::move(*image);
  out->ffn_ =
    view_expert(out->image_.bytes, images.model().config, images.options());
  return out;
}

result<std::shared_ptr<const layer_experts>>
layer_experts::load(packed_images& images, layer_index layer,
                    std::span<const expert_id> experts, kernels::lanes& pool) {
  std::vector<std::optional<result<std::shared_ptr<const packed_expert>>>>
    loaded(experts.size());
  pool.parallel_for(experts.size(), [&](size_t i, size_t) {
    loaded[i] = packed_expert::load(images, layer, experts[i]);
  });
  auto out = std::make_shared<layer_experts>();
  for (size_t i = 0; i < experts.size(); ++i) {
    auto& x = *loaded[i];
    if (!x)
      return tl::unexpected{x.error()};
    out->experts_.emplace(experts[i], std::move(*x));
  }
  return out;
}

const kernels::expert_ffn* layer_experts::find(expert_id expert) const {
  const auto i = experts_.find(expert);
  return i == experts_.end() ? nullptr : &i->second->ffn();
}

uint64_t layer_experts::size_bytes() const noexcept {
  uint64_t sum = 0;
  for (const auto& [id, x] : experts_)
    sum += x->size_bytes();
  return sum;
}

} // namespace troupe
