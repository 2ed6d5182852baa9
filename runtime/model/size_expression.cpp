#include "runtime/model/size_expression.hpp"

#include <algorithm>
#include <charconv>

namespace troupe {

namespace {

struct named_size {
  std::string_view name;
  uint64_t (*of)(const model_config& x);
};

/// One row per size; the numbers are bounded where they are read, so that no
/// product overflows.
constexpr named_size named_sizes[]{
  {"hidden_size", [](auto& x) { return uint64_t{x.hidden_size}; }},
  {"vocab_size", [](auto& x) { return uint64_t{x.vocab_size}; }},
  {"q_size", [](auto& x) { return uint64_t{x.attention.q_size()}; }},
  {"kv_size", [](auto& x) { return uint64_t{x.attention.kv_size()}; }},
  {"head_dim", [](auto& x) { return uint64_t{x.attention.head_dim}; }},
  {"heads", [](auto& x) { return uint64_t{x.attention.heads}; }},
  {"kv_heads", [](auto& x) { return uint64_t{x.attention.kv_heads}; }},
  {"q_lora_rank", [](auto& x) { return uint64_t{x.mla.q_lora_rank}; }},
  {"kv_lora_rank", [](auto& x) { return uint64_t{x.mla.kv_lora_rank}; }},
  {"latent_size",
   [](auto& x) { return uint64_t{x.mla.kv_lora_rank} + x.mla.rope_dim; }},
  {"key_value_size",
   [](auto& x) {
     return uint64_t{x.attention.heads} * (x.mla.nope_dim + x.mla.value_dim);
   }},
  {"value_size",
   [](auto& x) { return uint64_t{x.attention.heads} * x.mla.value_dim; }},
  {"conv_kernel", [](auto& x) { return uint64_t{x.short_conv.kernel}; }},
  {"delta_kernel", [](auto& x) { return uint64_t{x.gated_delta.kernel}; }},
  {"delta_conv_size",
   [](auto& x) { return uint64_t{x.gated_delta.conv_size()}; }},
  {"delta_value_size",
   [](auto& x) { return uint64_t{x.gated_delta.value_size()}; }},
  {"delta_qkvz_size",
   [](auto& x) {
     return uint64_t{x.gated_delta.conv_size()} + x.gated_delta.value_size();
   }},
  {"delta_value_heads",
   [](auto& x) { return uint64_t{x.gated_delta.value_heads}; }},
  {"delta_value_dim",
   [](auto& x) { return uint64_t{x.gated_delta.value_dim}; }},
  {"num_experts", [](auto& x) { return uint64_t{x.router.num_experts}; }},
  {"expert_size", [](auto& x) { return uint64_t{x.ffn.expert_size}; }},
  {"shared_size", [](auto& x) { return uint64_t{x.ffn.shared_size}; }},
  {"dense_size", [](auto& x) { return uint64_t{x.ffn.dense_size}; }}};

std::optional<uint64_t> number(std::string_view text) {
  uint32_t value = 0;
  auto end = text.data() + text.size();
  auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc{} || stop != end || value == 0)
    return std::nullopt;
  return value;
}

std::optional<uint64_t> term(std::string_view text, const model_config& x) {
  auto row = std::find_if(std::begin(named_sizes), std::end(named_sizes),
                          [&](auto& y) { return y.name == text; });
  if (row != std::end(named_sizes))
    return row->of(x);
  return number(text);
}

} // namespace

std::optional<uint64_t> size_of_expression(std::string_view text,
                                           const model_config& x) {
  uint64_t factor = 1;
  uint64_t divisor = 1;
  if (auto star = text.find('*'); star != std::string_view::npos) {
    auto value = number(text.substr(0, star));
    if (!value)
      return std::nullopt;
    factor = *value;
    text.remove_prefix(star + 1);
  }
  if (auto slash = text.find('/'); slash != std::string_view::npos) {
    auto value = number(text.substr(slash + 1));
    if (!value)
      return std::nullopt;
    divisor = *value;
    text = text.substr(0, slash);
  }
  auto value = term(text, x);
  if (!value)
    return std::nullopt;
  return (factor * *value + divisor - 1) / divisor;
}

std::vector<std::string_view> size_names() {
  std::vector<std::string_view> result;
  for (auto& x : named_sizes)
    result.push_back(x.name);
  return result;
}

} // namespace troupe
