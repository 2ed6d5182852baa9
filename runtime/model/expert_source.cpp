#include "runtime/model/expert_source.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/required_tensors.hpp"

namespace troupe {

namespace {

/// Codes of mxfp4 in a byte, and inputs that share a scale.
constexpr uint64_t mxfp4_codes_per_byte = 2;
constexpr uint64_t mxfp4_block = kernels::mxfp4_block_size;

result<expert_matrices> read_separate(const opened_model& model,
                                      layer_index layer, expert_id expert) {
  auto load = [&](std::string_view role) {
    return read_matrix(model.files, model.tensors.name(role, layer, expert));
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
  expert_matrices out;
  out.gate = std::move(*gate);
  out.up = std::move(*up);
  out.down = std::move(*down);
  return out;
}

/// One expert's piece of the tensors that have all of a layer.
class fused_reader {
public:
  fused_reader(const opened_model& model, layer_index layer, expert_id expert)
    : model_(model), layer_(layer), expert_(expert) {
    // nop
  }

  /// The piece as it lies there; empty (with `failure` set) when it cannot be
  /// read.
  host_tensor read(std::string_view role) {
    auto name = model_.tensors.name(role, layer_, expert_);
    auto* info = model_.files.find(name);
    TROUPE_ASSERT(info != nullptr && !info->shape.empty());
    auto out = make_host_tensor(info->dtype,
                                {info->shape.begin() + 1, info->shape.end()});
    if (failure)
      return out;
    auto done = model_.files.read(name, expert_.value * uint64_t{out.bytes},
                                  {out.data.get(), out.bytes});
    if (!done)
      failure = std::move(done).error();
    return out;
  }

  std::optional<error> failure;

private:
  const opened_model& model_;
  layer_index layer_;
  expert_id expert_;
};

/// Takes gate and up, which share a tensor, apart, and turns the matrices.
class expert_cutter {
public:
  explicit expert_cutter(const model_config& config)
    : storage_(config.ffn.experts), hidden_(config.hidden_size),
      inner_(config.ffn.expert_size) {
    // nop
  }

  enum class half : uint8_t { gate, up };

  /// [I, columns] of the rows of one half. `columns` are those of the stored
  /// rows: codes and scales have fewer than the matrix.
  host_tensor gate_up(const host_tensor& source, half part,
                      uint64_t columns) const {
    if (storage_.transposed)
      return copy_matrix(source, {first_of(part), step(), 2 * inner_}, inner_,
                         columns);
    return copy_matrix(source, {first_of(part) * columns, step() * columns, 1},
                       inner_, columns);
  }

  /// [H, columns].
  host_tensor down(const host_tensor& source, uint64_t columns) const {
    if (storage_.transposed)
      return copy_matrix(source, {0, 1, hidden_}, hidden_, columns);
    return copy_matrix(source, {0, columns, 1}, hidden_, columns);
  }

  /// [1, I] of a vector of both.
  host_tensor bias(const host_tensor& source, half part) const {
    return copy_matrix(source, {first_of(part), 0, step()}, 1, inner_);
  }

private:
  /// From one output of a half to its next one.
  uint64_t step() const {
    return storage_.interleaved ? 2 : 1;
  }
  uint64_t first_of(half part) const {
    if (part == half::gate)
      return 0;
    return storage_.interleaved ? 1 : inner_;
  }

  expert_storage storage_;
  uint64_t hidden_;
  uint64_t inner_;
};

stored_matrix plain_matrix(host_tensor values) {
  stored_matrix out;
  out.rows = values.shape[0];
  out.cols = values.shape[1];
  out.values = std::move(values);
  return out;
}

stored_matrix mxfp4_matrix(host_tensor values, host_tensor scales) {
  auto out = plain_matrix(std::move(values));
  out.cols *= mxfp4_codes_per_byte;
  out.scales = std::move(scales);
  out.format = weight_format::mxfp4;
  return out;
}

using half = expert_cutter::half;

void read_plain(fused_reader& from, const model_config& config,
                expert_matrices& out) {
  const expert_cutter cut{config};
  auto both = from.read("experts_gate_up");
  auto down = from.read("experts_down");
  out.gate = plain_matrix(cut.gate_up(both, half::gate, config.hidden_size));
  out.up = plain_matrix(cut.gate_up(both, half::up, config.hidden_size));
  out.down = plain_matrix(cut.down(down, config.ffn.expert_size));
}

void read_mxfp4(fused_reader& from, const model_config& config,
                expert_matrices& out) {
  const expert_cutter cut{config};
  const uint64_t hidden = config.hidden_size;
  const uint64_t inner = config.ffn.expert_size;
  auto codes = from.read("experts_gate_up_blocks");
  auto scales = from.read("experts_gate_up_scales");
  auto part = [&](half x) {
    return mxfp4_matrix(cut.gate_up(codes, x, hidden / mxfp4_codes_per_byte),
                        cut.gate_up(scales, x, hidden / mxfp4_block));
  };
  out.gate = part(half::gate);
  out.up = part(half::up);
  auto down_codes = from.read("experts_down_blocks");
  auto down_scales = from.read("experts_down_scales");
  out.down = mxfp4_matrix(cut.down(down_codes, inner / mxfp4_codes_per_byte),
                          cut.down(down_scales, inner / mxfp4_block));
}

result<expert_matrices> read_fused(const opened_model& model, layer_index layer,
                                   expert_id expert) {
  auto& config = model.config;
  auto& storage = config.ffn.experts;
  fused_reader from{model, layer, expert};
  expert_matrices out;
  if (storage.format == weight_format::mxfp4)
    read_mxfp4(from, config, out);
  else
    read_plain(from, config, out);
  if (storage.bias) {
    const expert_cutter cut{config};
    auto both = from.read("experts_gate_up_bias");
    out.gate_bias = cut.bias(both, half::gate);
    out.up_bias = cut.bias(both, half::up);
    out.down_bias = from.read("experts_down_bias");
    out.down_bias.shape = {1, config.hidden_size};
  }
  if (from.failure)
    return tl::unexpected(std::move(*from.failure));
  return out;
}

} // namespace

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
  if (config.ffn.experts.layout == expert_layout::fused)
    return read_fused(model, layer, expert);
  return read_separate(model, layer, expert);
}

uint64_t expert_storage_bytes(const opened_model& model, layer_index layer,
                              expert_id expert) {
  auto& config = model.config;
  const bool fused = config.ffn.experts.layout == expert_layout::fused;
  uint64_t sum = 0;
  for (auto role : expert_roles(config.ffn.experts)) {
    auto name = model.tensors.name(role, layer, expert);
    auto* info = model.files.find(name);
    sum += fused ? info->bytes / config.router.num_experts : info->bytes;
    if (auto* scale = model.files.find(scale_name(name)))
      sum += scale->bytes;
  }
  return sum;
}

} // namespace troupe
