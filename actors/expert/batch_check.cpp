#include "actors/expert/batch_check.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

result<void> check_header(const batch_header& x, const batch_limits& limits) {
  if (x.format != batch_format)
    return fail(ec::protocol_mismatch,
                "batch format {}: expected {}; run the same version of troupe "
                "on every machine",
                x.format, batch_format);
  if (x.node_incarnation != limits.incarnation)
    return fail(ec::invalid_argument,
                "batch {} is for incarnation {:x}, this is {:x}", x.batch,
                x.node_incarnation, limits.incarnation);
  if (!std::binary_search(limits.layers.begin(), limits.layers.end(),
                          layer_index{x.layer}))
    return fail(ec::invalid_argument, "batch {}: layer {} is not served here",
                x.batch, x.layer);
  if (x.rows == 0 || x.rows > limits.rows_max || x.pairs == 0 ||
      x.pairs > limits.pairs_max)
    return fail(ec::shape_mismatch,
                "batch {}: {} rows and {} pairs, expected 1 to {} and 1 to {}",
                x.batch, x.rows, x.pairs, limits.rows_max, limits.pairs_max);
  if (x.row_type != static_cast<uint8_t>(limits.row_type))
    return fail(ec::shape_mismatch, "batch {}: row type {}, expected {} ({})",
                x.batch, x.row_type, static_cast<uint8_t>(limits.row_type),
                kernels::to_string(limits.row_type));
  if (x.reply_type != static_cast<uint8_t>(kernels::dtype::bf16) &&
      x.reply_type != static_cast<uint8_t>(kernels::dtype::f32))
    return fail(ec::shape_mismatch, "batch {}: unknown reply type {}", x.batch,
                x.reply_type);
  return {};
}

} // namespace

result<void> check_batch(const expert_batch& x, const batch_limits& limits) {
  auto& header = x.header;
  if (auto ok = check_header(header, limits); !ok)
    return ok;
  if (x.pairs.size() != header.pairs * sizeof(expert_pair) ||
      !x.pairs.holds_array_of<expert_pair>())
    return fail(ec::shape_mismatch,
                "batch {}: {} bytes of pairs, expected {} for {} pairs",
                header.batch, x.pairs.size(),
                header.pairs * sizeof(expert_pair), header.pairs);
  auto row_bytes = limits.row_bytes();
  if (x.rows.empty() || x.rows.size() % row_bytes != 0 ||
      x.rows.size() / row_bytes > header.rows)
    return fail(ec::shape_mismatch,
                "batch {}: {} bytes of rows, expected up to {} rows of {}",
                header.batch, x.rows.size(), header.rows, row_bytes);
  for (auto& pair : x.pairs.as<expert_pair>()) {
    if (pair.row >= header.rows || pair.expert.value >= limits.experts)
      return fail(ec::invalid_argument,
                  "batch {}: pair of row {} and expert {}, expected rows below "
                  "{} and experts below {}",
                  header.batch, pair.row, pair.expert.value, header.rows,
                  limits.experts);
    if (!std::isfinite(pair.input_weight))
      return fail(ec::invalid_argument,
                  "batch {}: the pair of row {} and expert {} has the input "
                  "weight {}, expected a finite one",
                  header.batch, pair.row, pair.expert.value, pair.input_weight);
  }
  return {};
}

result<void> check_piece(const expert_rows_piece& x, uint32_t rows,
                         uint32_t next, const batch_limits& limits) {
  auto row_bytes = limits.row_bytes();
  if (x.first != next || x.rows.empty() || x.rows.size() % row_bytes != 0 ||
      x.rows.size() / row_bytes > rows - next)
    return fail(ec::shape_mismatch,
                "batch {}: {} bytes of rows from row {}, expected rows of {} "
                "bytes from row {} up to {}",
                x.batch, x.rows.size(), x.first, row_bytes, next, rows);
  return {};
}

} // namespace troupe
