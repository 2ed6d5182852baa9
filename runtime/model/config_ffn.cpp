// Feed-forward layers of a recipe, and how weights are stored.
#include "runtime/model/config_sections.hpp"
#include "runtime/model/property_names.hpp"

#include <algorithm>

namespace troupe {

namespace {

using nlohmann::json;

constexpr uint32_t shared_experts_max = 1024;

void read_activation(config_keys& keys, model_config& x) {
  auto& activation = x.ffn.activation;
  auto name = keys.text("activation");
  auto known =
    std::find_if(std::begin(activation_names), std::end(activation_names),
                 [&](auto& y) { return y.name == name; });
  if (known != std::end(activation_names))
    activation.kind = known->value;
  else if (!name.empty())
    keys.refuse(ec::unsupported, "activation",
                fmt::format("expected \"silu\" or \"gelu_pytorch_tanh\", found "
                            "\"{}\", which is not built",
                            name));
  if (auto alpha = keys.optional_real("activation_alpha", 0.0, 1e6))
    activation.alpha = static_cast<float>(*alpha);
  if (auto limit = keys.optional_real("activation_limit", 0.0, 1e6))
    activation.limit = static_cast<float>(*limit);
}

/// The shared experts of a layer are one that is as large as all of them.
void read_shared(config_keys& keys, ffn_config& ffn) {
  if (auto size = keys.optional_whole("shared_size", 0, size_max)) {
    ffn.shared_size = *size;
    return;
  }
  auto count =
    keys.optional_whole("shared_experts", 0, shared_experts_max).value_or(0);
  auto size = uint64_t{count} * ffn.expert_size;
  if (size > size_max)
    keys.refuse(ec::invalid_argument, "shared_experts",
                fmt::format("expected at most {} columns in all, found {} x {}",
                            size_max, count, ffn.expert_size));
  else
    ffn.shared_size = static_cast<uint32_t>(size);
}

void read_fp8(config_keys& keys, model_config& x) {
  auto* block = keys.at_path("quantization_config.weight_block_size");
  if (!block ||
      *block != json{kernels::fp8_block_size, kernels::fp8_block_size})
    keys.refuse(ec::unsupported, "quantization_config.weight_block_size",
                fmt::format("expected [{0}, {0}], found {1}, which is not "
                            "built",
                            kernels::fp8_block_size,
                            block ? block->dump() : "none"));
  if (x.ffn.experts.layout != expert_layout::separate)
    keys.refuse(ec::unsupported, "quantization_config",
                "FP8 is built for experts in tensors of their own only");
  x.ffn.experts.format = weight_format::fp8_block;
}

void read_mxfp4(config_keys& keys, model_config& x) {
  for (auto size : {x.hidden_size, x.ffn.expert_size})
    if (size % kernels::mxfp4_block_size != 0)
      keys.refuse(ec::unsupported, "quantization_config",
                  fmt::format("expected sizes that are multiples of {}, found "
                              "{}",
                              kernels::mxfp4_block_size, size));
  x.ffn.experts.format = weight_format::mxfp4;
  // Packed blocks stand as [outputs, inputs] whatever plain weights do.
  x.ffn.experts.transposed = false;
}

} // namespace

void read_ffn(config_keys& keys, model_config& x) {
  read_activation(keys, x);
  x.ffn.expert_size = keys.whole("expert_size", 1, size_max);
  x.ffn.dense_size = keys.optional_whole("dense_size", 0, size_max).value_or(0);
  read_shared(keys, x.ffn);
}

void read_weight_format(config_keys& keys, model_config& x) {
  if (!keys.at_path("quantization_config"))
    return;
  auto* method = keys.at_path("quantization_config.quant_method");
  if (method && *method == "fp8")
    read_fp8(keys, x);
  else if (method && *method == "mxfp4")
    read_mxfp4(keys, x);
  else
    keys.refuse(ec::unsupported, "quantization_config",
                fmt::format("expected weights in bf16 or f32, or quantised by "
                            "\"fp8\" or \"mxfp4\", found {}, which is not "
                            "built",
                            method ? describe(*method) : "no quant_method"));
}

} // namespace troupe
