// Three rounds of tasks: gather rows, (expert x block of gate and up), (expert
// x block of down). A block of gate and the same block of up are one task, so
// that their product needs no memory of its own size; with few rows each task
// is a stream of weights, and all lanes stream at once.
#include "kernels/moe_ffn.hpp"

#include "kernels/rounding.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace troupe::kernels {

namespace {

/// Rows that one task gathers.
constexpr size_t gather_rows = 32;
/// Below this, gathering on other lanes costs more than it saves.
constexpr size_t gather_alone_bytes = size_t{128} << 10;

/// One expert's part of the work.
struct group {
  const expert_rows* work;
  packed_rows input; ///< [rows, hidden]
  packed_rows inner; ///< [rows, expert_size], after the activation.
};

/// Rows `range` of a group.
struct piece {
  const group* part;
  row_range range;
};

size_t aligned(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// The call's shape, the same for all experts.
struct shape {
  size_t hidden;
  size_t expert_size;
  compute_options options;

  size_t input_bytes(size_t rows) const {
    return aligned(packed_rows::bytes_needed(rows, hidden, options));
  }
  size_t inner_bytes(size_t rows) const {
    return aligned(packed_rows::bytes_needed(rows, expert_size, options));
  }
};

void check(const expert_rows& work, const shape& s, activation_view x,
           output_view y) {
  const auto& ffn = *work.expert;
  const auto fits = [](const std::vector<float>& bias, size_t size) {
    return bias.empty() || bias.size() == size;
  };
  TROUPE_ASSERT(work.rows.size() == work.slots.size());
  TROUPE_ASSERT(work.scales.empty() || work.scales.size() == work.rows.size());
  for (const auto* w : {&ffn.gate, &ffn.up, &ffn.down})
    TROUPE_ASSERT(w->options().mode == s.options.mode &&
                  w->options().isa == s.options.isa);
  TROUPE_ASSERT(ffn.gate.inputs() == s.hidden && ffn.up.inputs() == s.hidden);
  TROUPE_ASSERT(ffn.gate.outputs() == s.expert_size &&
                ffn.up.outputs() == s.expert_size);
  TROUPE_ASSERT(ffn.down.inputs() == s.expert_size &&
                ffn.down.outputs() == s.hidden);
  TROUPE_ASSERT(fits(ffn.gate_bias, s.expert_size) &&
                fits(ffn.up_bias, s.expert_size) &&
                fits(ffn.down_bias, s.hidden));
  for (const auto row : work.rows)
    TROUPE_ASSERT(row < x.rows);
  for (const auto slot : work.slots)
    TROUPE_ASSERT(slot < y.rows);
}

std::vector<group> make_groups(std::span<const expert_rows> work,
                               const shape& s, lanes::seat& seat) {
  size_t bytes = 0;
  for (const auto& part : work)
    bytes += s.input_bytes(part.rows.size()) + s.inner_bytes(part.rows.size());
  std::byte* memory = seat.scratch(bytes);
  std::vector<group> groups;
  groups.reserve(work.size());
  for (const auto& part : work) {
    const size_t rows = part.rows.size();
    if (rows == 0)
      continue;
    std::byte* inner = memory + s.input_bytes(rows);
    groups.push_back({&part,
                      {memory, rows, s.hidden, s.options},
                      {inner, rows, s.expert_size, s.options}});
    memory = inner + s.inner_bytes(rows);
  }
  return groups;
}

std::vector<piece> cut(const std::vector<group>& groups, size_t rows_max) {
  std::vector<piece> pieces;
  for (const auto& part : groups) {
    const size_t rows = part.work->rows.size();
    for (size_t first = 0; first < rows; first += rows_max)
      pieces.push_back({&part, {first, std::min(rows_max, rows - first)}});
  }
  return pieces;
}

void gather(const std::vector<group>& groups, activation_view x, lanes& pool) {
  const auto pieces = cut(groups, gather_rows);
  const auto gather_piece = [&](size_t task, size_t) {
    const auto& [part, range] = pieces[task];
    const auto& scales = part->work->scales;
    for (size_t row = range.first; row < range.first + range.count; ++row)
      part->input.set_row(row, x, part->work->rows[row],
                          scales.empty() ? 1.0f : scales[row]);
  };
  const size_t pairs = std::accumulate(
    groups.begin(), groups.end(), size_t{0},
    [](size_t sum, const group& part) { return sum + part.work->rows.size(); });
  if (pairs * x.cols * size_of(x.type) > gather_alone_bytes)
    return pool.parallel_for(pieces.size(), gather_piece);
  for (size_t task = 0; task < pieces.size(); ++task)
    gather_piece(task, 0);
}

/// values[i] += bias[first + i] for `columns` of each row.
void add_bias(matrix_view<float> values, std::span<const float> bias,
              size_t first, size_t columns) {
  if (bias.empty())
    return;
  for (size_t row = 0; row < values.rows; ++row)
    for (size_t i = 0; i < columns; ++i)
      values.row(row)[i] += bias[first + i];
}

/// Blocks [begin, end) of a weight.
struct run {
  size_t begin;
  size_t end;
};

/// inner[:, block] = f(gate, up) for the rows of a piece. Gate and up blocks
/// alternate; each names the next, so that its fetch overlaps with the work.
void gate_and_up(const piece& p, const run& blocks, std::byte* memory) {
  const auto& ffn = *p.part->work->expert;
  const size_t width = ffn.gate.block_columns();
  const size_t count = p.range.count * width;
  auto* values = reinterpret_cast<float*>(memory);
  const matrix_view<float> gate{values, p.range.count, width, width};
  const matrix_view<float> up{values + count, p.range.count, width, width};
  std::byte* expanded = memory + 2 * count * sizeof(float);
  for (size_t block = blocks.begin; block < blocks.end; ++block) {
    const std::byte* after =
      block + 1 < blocks.end ? ffn.gate.block_data(block + 1) : nullptr;
    multiply_block({&ffn.gate, block, p.range, gate, block > blocks.begin,
                    ffn.up.block_data(block), expanded},
                   p.part->input);
    multiply_block({&ffn.up, block, p.range, up, true, after, expanded},
                   p.part->input);
    const size_t columns = ffn.gate.columns_of(block);
    add_bias(gate, ffn.gate_bias, block * width, columns);
    add_bias(up, ffn.up_bias, block * width, columns);
    gated_activation(ffn.activation, ffn.gate.options().isa, {gate.data, count},
                     {up.data, count});
    p.part->inner.set_block(p.range.first, block * width,
                            {gate.data, gate.rows, columns, width});
  }
}

/// y[slots, column...] = values, in the reply type.
void write_rows(matrix_view<const float> values, isa level,
                std::span<const uint32_t> slots, const output_view& y,
                size_t column) {
  const auto round = rounding_for(level);
  for (size_t row = 0; row < values.rows; ++row) {
    std::byte* out = y.row(slots[row]) + column * size_of(y.type);
    if (y.type == dtype::f32)
      std::memcpy(out, values.row(row), values.cols * sizeof(float));
    else
      round(values.row(row), values.cols, reinterpret_cast<bf16*>(out));
  }
}

/// y[slots, blocks] for the rows of a piece.
void down(const piece& p, const run& blocks, const output_view& y,
          std::byte* memory) {
  const auto& work = *p.part->work;
  const auto& w = work.expert->down;
  const size_t width = w.block_columns();
  const auto slots = work.slots.subspan(p.range.first, p.range.count);
  const matrix_view<float> out{reinterpret_cast<float*>(memory), p.range.count,
                               width, width};
  std::byte* expanded = memory + p.range.count * width * sizeof(float);
  for (size_t block = blocks.begin; block < blocks.end; ++block) {
    const std::byte* after =
      block + 1 < blocks.end ? w.block_data(block + 1) : nullptr;
    multiply_block(
      {&w, block, p.range, out, block > blocks.begin, after, expanded},
      p.part->inner);
    const size_t columns = w.columns_of(block);
    add_bias(out, work.expert->down_bias, block * width, columns);
    write_rows({out.data, out.rows, columns, width}, w.options().isa, slots, y,
               block * width);
  }
}

/// Of the experts' weights, the most.
size_t expansion_bytes(const std::vector<piece>& pieces) {
  size_t most = 0;
  for (const auto& p : pieces) {
    const auto& ffn = *p.part->work->expert;
    for (const auto* w : {&ffn.gate, &ffn.up, &ffn.down})
      most = std::max(most, w->expansion_bytes());
  }
  return most;
}

/// Runs `compute(piece, run, memory)` for every piece and run of blocks of a
/// weight with the shape of `w`, as tasks that find memory for `sums` blocks of
/// their rows' sums, and to expand any weight of theirs.
template <class Function>
void for_each_run(const std::vector<piece>& pieces, const packed_weight& w,
                  size_t sums, lanes& pool, Function compute) {
  const size_t row_bytes = sums * w.block_columns() * sizeof(float);
  const size_t expansion = expansion_bytes(pieces);
  const size_t blocks = w.blocks();
  size_t rows_max = 0;
  for (const auto& p : pieces)
    rows_max = std::max(rows_max, p.range.count);
  const size_t length =
    blocks_per_task(w, rows_max, pieces.size() * blocks, pool);
  const size_t runs = (blocks + length - 1) / length;
  pool.parallel_for(pieces.size() * runs, [&](size_t task, size_t lane) {
    const auto& p = pieces[task / runs];
    const size_t begin = task % runs * length;
    compute(p, run{begin, std::min(begin + length, blocks)},
            pool.task_scratch(lane, p.range.count * row_bytes + expansion));
  });
}

} // namespace

void moe_ffn(std::span<const expert_rows> work, activation_view x,
             output_view y, lanes& pool) {
  if (work.empty())
    return;
  const auto& first = *work.front().expert;
  const shape s{first.gate.inputs(), first.gate.outputs(),
                first.gate.options()};
  TROUPE_ASSERT(x.cols == s.hidden && y.cols == s.hidden);
  for (const auto& part : work)
    check(part, s, x, y);
  lanes::seat seat(pool);
  const auto groups = make_groups(work, s, seat);
  gather(groups, x, pool);

  for_each_run(cut(groups, rows_per_task(s.hidden, s.options)), first.gate, 2,
               pool, gate_and_up);
  for_each_run(cut(groups, rows_per_task(s.expert_size, s.options)), first.down,
               1, pool,
               [&](const piece& p, const run& blocks, std::byte* memory) {
                 down(p, blocks, y, memory);
               });
}

void dense_ffn(const expert_ffn& ffn, activation_view x, output_view y,
               lanes& pool) {
  std::vector<uint32_t> rows(x.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  const expert_rows work{&ffn, rows, rows};
  moe_ffn(std::span(&work, 1), x, y, pool);
}

} // namespace troupe::kernels
