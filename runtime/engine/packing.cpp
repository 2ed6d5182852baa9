// Reading and widening of stored tensors; packing itself is the kernels'.
#include "runtime/engine/packing.hpp"

#include "kernels/quant.hpp"
#include "runtime/engine/moe_exchange.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace troupe {

namespace {

/// A byte of scale that is no number.
constexpr uint8_t nan_scale = 255;

const uint8_t* bytes_of(const host_tensor& x) {
  return reinterpret_cast<const uint8_t*>(x.data.get());
}

/// Powers of two, a byte each.
std::vector<float> powers_of(const host_tensor& x) {
  constexpr uint8_t code_of_one = 2;
  std::vector<float> out(x.elements());
  std::transform(
    bytes_of(x), bytes_of(x) + out.size(), out.begin(), [](uint8_t scale) {
      return std::bit_cast<float>(kernels::mxfp4_value_f32(code_of_one, scale));
    });
  return out;
}

/// Scales of FP8 blocks. One that is no number would spoil its block, and every
/// token with it.
result<std::vector<float>> read_scales(const host_tensor& x) {
  std::vector<float> out;
  if (x.dtype == kernels::dtype::f8_e8m0) {
    out = powers_of(x);
  } else {
    const auto source = weight_source::of(x);
    if (!source)
      return tl::unexpected{source.error()};
    out = source->to_floats();
  }
  const auto odd = std::find_if(
    out.begin(), out.end(), [](float scale) { return !std::isfinite(scale); });
  if (odd == out.end())
    return out;
  return fail(ec::bad_format,
              "scale {} is {}; expected finite numbers. Is the file damaged?",
              odd - out.begin(), *odd);
}

result<void> check_mxfp4_scales(const host_tensor& x) {
  const auto* end = bytes_of(x) + x.bytes;
  const auto* odd = std::find(bytes_of(x), end, nan_scale);
  if (odd == end)
    return {};
  return fail(ec::bad_format,
              "scale {} is 255, which is no number. Is the file damaged?",
              odd - bytes_of(x));
}

} // namespace

float half_to_float(uint16_t bits) noexcept {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16U;
  const uint32_t exponent = (bits >> 10U) & 0x1fU;
  const uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1f) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13U);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 112U) << 23U |
                                fraction << 13U);
  const float value = static_cast<float>(fraction) * 0x1p-24F;
  return sign == 0 ? value : -value;
}

result<weight_source> weight_source::of(const host_tensor& x) {
  const size_t cols = x.shape.empty() ? 1 : x.shape.back();
  const size_t count = x.elements();
  const size_t rows = cols == 0 ? 0 : count / cols;
  weight_source out;
  switch (x.dtype) {
  case kernels::dtype::bf16:
    out.view_ = {x.data.get(), kernels::dtype::bf16, rows, cols, cols};
    return out;
  case kernels::dtype::f32:
    out.view_ = {x.data.get(), kernels::dtype::f32, rows, cols, cols};
    return out;
  case kernels::dtype::f16:
    out.expanded_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      uint16_t bits = 0;
      std::memcpy(&bits, x.data.get() + i * sizeof(bits), sizeof(bits));
      out.expanded_[i] = half_to_float(bits);
    }
    out.view_ = {out.expanded_.data(), kernels::dtype::f32, rows, cols, cols};
    return out;
  default:
    return fail(ec::unsupported,
                "weights of type {} are not built; expected BF16, F16 or F32",
                kernels::to_string(x.dtype));
  }
}

std::vector<float> weight_source::to_floats() const {
  std::vector<float> out(view_.rows * view_.cols);
  for (size_t i = 0; i < out.size(); ++i) {
    if (view_.type == kernels::dtype::f32)
      out[i] = static_cast<const float*>(view_.data)[i];
    else
      out[i] =
        kernels::to_float(static_cast<const kernels::bf16*>(view_.data)[i]);
  }
  return out;
}

result<matrix_source> matrix_source::of(const stored_matrix& x) {
  matrix_source out;
  out.codes_.format = x.format;
  if (x.format == kernels::weight_format::plain) {
    auto plain = weight_source::of(x.values);
    if (!plain)
      return tl::unexpected{plain.error()};
    out.plain_ = std::move(*plain);
    return out;
  }
  if (x.format == kernels::weight_format::mxfp4) {
    if (auto ok = check_mxfp4_scales(x.scales); !ok)
      return tl::unexpected{ok.error()};
    out.codes_ =
      kernels::as_mxfp4(bytes_of(x.values), bytes_of(x.scales), x.rows, x.cols);
    return out;
  }
  auto scales = read_scales(x.scales);
  if (!scales)
    return tl::unexpected{scales.error()};
  out.scales_ = std::move(*scales);
  out.codes_ =
    kernels::as_fp8(bytes_of(x.values), out.scales_.data(), x.rows, x.cols);
  return out;
}

kernels::packed_weight
matrix_source::pack(kernels::compute_options options) const {
  return is_plain() ? kernels::packed_weight::pack(plain_.view(), options)
                    : kernels::packed_weight::pack(codes_, options);
}

kernels::packed_weight
matrix_source::pack_into(std::span<std::byte> memory,
                         kernels::compute_options options) const {
  using kernels::packed_weight;
  return is_plain() ? packed_weight::pack_into(memory, plain_.view(), options)
                    : packed_weight::pack_into(memory, codes_, options);
}

kernels::weight_shape matrix_source::shape() const {
  if (is_plain())
    return {plain_.view().rows, plain_.view().cols, codes_.format};
  return {codes_.rows, codes_.cols, codes_.format};
}

bool matrix_source::is_plain() const {
  return codes_.format == kernels::weight_format::plain;
}

result<kernels::packed_weight> pack_matrix(const stored_matrix& x,
                                           kernels::compute_options options) {
  const auto source = matrix_source::of(x);
  if (!source)
    return tl::unexpected{source.error()};
  return source->pack(options);
}

result<stored_matrix> load_expanded(const checkpoint& files,
                                    std::string_view name,
                                    kernels::compute_options options) {
  auto stored = read_matrix(files, name);
  if (!stored || stored->format == kernels::weight_format::plain)
    return stored;
  const auto source = matrix_source::of(*stored);
  if (!source)
    return wrap(name, source.error());
  // The type it is packed in: rounded once.
  const auto type = row_type(options.mode);
  stored_matrix out;
  out.rows = stored->rows;
  out.cols = stored->cols;
  out.values = make_host_tensor(type, {out.rows, out.cols});
  kernels::expand(options.isa, source->codes(),
                  {out.values.data.get(), type, out.rows, out.cols, out.cols});
  return out;
}

result<kernels::packed_weight> load_packed(const checkpoint& files,
                                           std::string_view name,
                                           kernels::compute_options options) {
  const auto stored = read_matrix(files, name);
  if (!stored)
    return tl::unexpected{stored.error()};
  auto packed = pack_matrix(*stored, options);
  if (!packed)
    return wrap(name, packed.error());
  return packed;
}

result<std::vector<float>> load_floats(const checkpoint& files,
                                       std::string_view name) {
  const auto tensor = files.load(name);
  if (!tensor)
    return tl::unexpected{tensor.error()};
  const auto source = weight_source::of(*tensor);
  if (!source)
    return wrap(name, source.error());
  auto out = source->to_floats();
  const auto odd = std::find_if(out.begin(), out.end(),
                                [](float x) { return !std::isfinite(x); });
  if (odd != out.end())
    return fail(ec::bad_format,
                "{}: {}: element {} is {}; expected finite numbers. Is the "
                "file damaged?",
                files.file_of(name), name, odd - out.begin(), *odd);
  return out;
}

result<hidden_rows> load_rows(const checkpoint& files, std::string_view name) {
  const auto tensor = files.load(name);
  if (!tensor)
    return tl::unexpected{tensor.error()};
  const auto source = weight_source::of(*tensor);
  if (!source)
    return wrap(name, source.error());
  const auto view = source->view();
  hidden_rows out{view.rows, view.cols, view.type};
  if (out.memory.size_bytes() != 0)
    std::memcpy(out.memory.data(), view.data, view.rows * out.row_bytes());
  return out;
}

} // namespace troupe
