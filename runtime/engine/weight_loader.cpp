#include "runtime/engine/weight_loader.hpp"

#include "runtime/engine/packing.hpp"

#include <fmt/format.h>

namespace troupe {

template <class T, class F>
void weight_loader::take(T& out, F read) {
  if (failure)
    return;
  auto x = read();
  if (x)
    out = std::move(*x);
  else
    failure = x.error();
}

void weight_loader::load(kernels::packed_weight& out, std::string_view role) {
  const auto& name = name_of(role);
  take(out, [&] {
    return tape_.packed(name, options_, [&] {
      return load_packed(model_.files, name, options_);
    });
  });
}

void weight_loader::load(std::vector<float>& out, std::string_view role) {
  const auto& name = name_of(role);
  take(out, [&] {
    return tape_.floats(name, [&] { return load_floats(model_.files, name); });
  });
}

void weight_loader::load(kernels::weight_view& out, std::string_view role) {
  const auto& name = name_of(role);
  take(out, [&] {
    return tape_.rows(name, [&] { return load_rows(model_.files, name); });
  });
}

void weight_loader::derive(const std::vector<kernels::packed_weight*>& outs,
                           const std::function<void()>& make) {
  if (!failure && !tape_.is_playing())
    make();
  for (auto* out : outs)
    take(*out, [&] {
      return tape_.packed(
        "derived", options_,
        [&]() -> result<kernels::packed_weight> { return std::move(*out); });
    });
}

void weight_loader::load(kernels::expert_ffn& out, const ffn_roles& roles) {
  out.activation = config().ffn.activation;
  load(out.gate, roles.gate);
  load(out.up, roles.up);
  load(out.down, roles.down);
}

void weight_loader::load_norm(norm_weights& out, std::string_view role) {
  load_norm(out.weight, role);
  if (config().norm.kind == norm_kind::layer)
    load(out.bias, fmt::format("{}_bias", role));
}

void weight_loader::load_norm(std::vector<float>& out, std::string_view role) {
  load(out, role);
  if (config().norm.unit_offset)
    for (auto& x : out)
      x += 1;
}

std::optional<stored_matrix> weight_loader::read(std::string_view role) {
  std::optional<stored_matrix> out;
  take(out,
       [&] { return load_expanded(model_.files, name_of(role), options_); });
  return out;
}

void weight_loader::pack(kernels::packed_weight& out,
                         const stored_matrix& rows) {
  take(out, [&] { return pack_matrix(rows, options_); });
}

const std::string& weight_loader::name_of(std::string_view role) const {
  return layer_ ? model_.tensors.name(role, *layer_)
                : model_.tensors.name(role);
}

} // namespace troupe
