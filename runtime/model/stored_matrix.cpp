#include "runtime/model/stored_matrix.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/required_tensors.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace troupe {

namespace {

/// Elements are copied in squares, so that both sides stay in the cache when
/// one of them runs across its rows.
constexpr uint64_t square = 64;

struct element_range {
  uint64_t begin;
  uint64_t end;
};

element_range square_at(uint64_t begin, uint64_t size) {
  return {begin, std::min(begin + square, size)};
}

/// `Unit` has the size of an element.
template <class Unit>
void copy_elements(const host_tensor& source, const matrix_layout& from,
                   host_tensor& out) {
  const auto rows = out.shape[0];
  const auto cols = out.shape[1];
  auto copy = [&](element_range across, element_range along) {
    for (auto r = across.begin; r < across.end; ++r)
      for (auto c = along.begin; c < along.end; ++c)
        std::memcpy(out.data.get() + (r * cols + c) * sizeof(Unit),
                    source.data.get() + (from.offset + r * from.row_stride +
                                         c * from.col_stride) *
                                          sizeof(Unit),
                    sizeof(Unit));
  };
  for (uint64_t r = 0; r < rows; r += square)
    for (uint64_t c = 0; c < cols; c += square)
      copy(square_at(r, rows), square_at(c, cols));
}

} // namespace

result<stored_matrix> read_matrix(const checkpoint& files,
                                  std::string_view name) {
  stored_matrix out;
  auto values = files.load(name);
  if (!values)
    return tl::unexpected(std::move(values).error());
  out.values = std::move(*values);
  TROUPE_ASSERT(out.values.shape.size() == 2);
  out.rows = out.values.shape[0];
  out.cols = out.values.shape[1];
  if (out.values.dtype != kernels::dtype::f8_e4m3)
    return out;
  auto scales = files.load(scale_name(name));
  if (!scales)
    return tl::unexpected(std::move(scales).error());
  out.scales = std::move(*scales);
  out.format = weight_format::fp8_block;
  return out;
}

host_tensor make_host_tensor(kernels::dtype type, std::vector<uint64_t> shape) {
  host_tensor out;
  out.dtype = type;
  out.shape = std::move(shape);
  out.bytes = std::accumulate(out.shape.begin(), out.shape.end(),
                              kernels::size_of(type), std::multiplies<>{});
  out.data = std::make_unique_for_overwrite<std::byte[]>(out.bytes);
  return out;
}

host_tensor copy_matrix(const host_tensor& source, const matrix_layout& from,
                        uint64_t rows, uint64_t cols) {
  if (rows > 0 && cols > 0)
    TROUPE_ASSERT(from.offset + (rows - 1) * from.row_stride +
                    (cols - 1) * from.col_stride <
                  source.elements());
  auto out = make_host_tensor(source.dtype, {rows, cols});
  switch (kernels::size_of(source.dtype)) {
  case 1:
    copy_elements<uint8_t>(source, from, out);
    break;
  case 2:
    copy_elements<uint16_t>(source, from, out);
    break;
  case 4:
    copy_elements<uint32_t>(source, from, out);
    break;
  default:
    copy_elements<uint64_t>(source, from, out);
  }
  return out;
}

} // namespace troupe
