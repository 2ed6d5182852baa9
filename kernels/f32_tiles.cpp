// The self-check: a height is used only when a row computed in a tile of that
// height, at each position and among other neighbours, has the bits of the
// reference height.
#include "kernels/f32_tiles.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace troupe::kernels {

namespace {

constexpr std::array<size_t, 6> candidate_heights{32, 16, 8, 4, 2, 1};

/// Fixed pseudo-random values in [-1, 1) (a 64-bit LCG's upper bits).
std::vector<float> probe_values(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  for (auto& value : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const auto signed_bits = static_cast<int32_t>(seed >> 32);
    value = static_cast<float>(signed_bits) * 0x1p-31f;
  }
  return values;
}

/// Compares `tile` with the rows that the reference computed: 32 rows of x in
/// portions of the tile's height, then shifted by one row.
bool agrees(const dnnl_tile& tile, const std::vector<float>& x,
            const std::byte* weight, const std::vector<float>& expected) {
  constexpr size_t columns = f32_tiles::columns;
  const size_t height = tile.shape().rows, stride = tile.shape().x_stride;
  std::vector<float> y(height * columns);
  for (size_t shift = 0; shift < 2; ++shift)
    for (size_t row = shift; row + height <= f32_tiles::reference_rows;
         row += height) {
      tile.run(x.data() + row * stride, weight, y.data());
      if (std::memcmp(y.data(), expected.data() + row * columns,
                      y.size() * sizeof(float)) != 0)
        return false;
    }
  return true;
}

} // namespace

std::shared_ptr<const f32_tiles> f32_tiles::of(size_t inputs, isa level) {
  static std::mutex mutex;
  static std::map<std::pair<size_t, isa>, std::shared_ptr<const f32_tiles>>
    made;
  const std::unique_lock held(mutex);
  auto& tiles = made[{inputs, level}];
  if (tiles == nullptr)
    tiles = std::make_shared<const f32_tiles>(inputs, level);
  return tiles;
}

f32_tiles::f32_tiles(size_t inputs, isa level) : inputs_(inputs) {
  const compute_options options{level, numeric_mode::f32};
  heights_.assign(candidate_heights.begin(), candidate_heights.end());
  for (size_t first = 0; first < inputs; first += chunk_inputs) {
    chunk c;
    c.first = first;
    c.inputs = std::min(chunk_inputs, inputs - first);
    c.offset = block_bytes_;
    auto reference =
      dnnl_tile::make({reference_rows, c.inputs, columns, inputs}, options);
    TROUPE_ASSERT(reference.has_value());
    block_bytes_ += (reference->weight_bytes() + 63) / 64 * 64;
    c.tiles.push_back(std::move(*reference));
    chunks_.push_back(std::move(c));
  }
  for (auto& c : chunks_) {
    const auto& reference = c.tiles.front();
    const auto x = probe_values(reference_rows * inputs, 1);
    const auto w = probe_values(columns * c.inputs, 2);
    aligned_buffer packed(reference.weight_bytes());
    reference.pack(w.data(), packed.data());
    std::vector<float> expected(reference_rows * columns);
    reference.run(x.data(), packed.data(), expected.data());
    std::vector<size_t> passed;
    std::vector<dnnl_tile> tiles;
    for (const size_t height : heights_) {
      auto tile = dnnl_tile::make({height, c.inputs, columns, inputs}, options,
                                  &reference);
      if (!tile || !agrees(*tile, x, packed.data(), expected))
        continue;
      passed.push_back(height);
      tiles.push_back(std::move(*tile));
    }
    TROUPE_ASSERT(!passed.empty() && passed.front() == reference_rows);
    // A height must pass for every chunk: drop it from the earlier ones too.
    for (auto& earlier : chunks_)
      if (&earlier < &c)
        std::erase_if(earlier.tiles, [&](const dnnl_tile& tile) {
          return std::ranges::find(passed, tile.shape().rows) == passed.end();
        });
    c.tiles = std::move(tiles);
    heights_ = std::move(passed);
  }
}

size_t f32_tiles::block_bytes() const {
  return block_bytes_;
}

void f32_tiles::pack_block(const float* weight, std::byte* block) const {
  if (chunks_.size() == 1)
    return chunks_.front().tiles.front().pack(weight, block);
  std::vector<float> part;
  for (const auto& c : chunks_) {
    part.resize(columns * c.inputs);
    for (size_t row = 0; row < columns; ++row)
      std::copy_n(weight + row * inputs_ + c.first, c.inputs,
                  part.data() + row * c.inputs);
    c.tiles.front().pack(part.data(), block + c.offset);
  }
}

size_t f32_tiles::choose_height(size_t rows) const {
  for (size_t i = 0; i < heights_.size(); ++i)
    if (heights_[i] <= rows)
      return i;
  return heights_.size() - 1;
}

void f32_tiles::multiply(const std::byte* block, const float* x, size_t rows,
                         matrix_view<float> out) const {
  alignas(64) std::array<float, reference_rows * columns> sum, part;
  for (size_t row = 0; row < rows;) {
    const size_t which = choose_height(rows - row);
    const size_t height = heights_[which];
    for (const auto& c : chunks_) {
      auto& into = &c == chunks_.data() ? sum : part;
      c.tiles[which].run(x + row * inputs_ + c.first, block + c.offset,
                         into.data());
      if (&into == &part)
        for (size_t i = 0; i < height * columns; ++i)
          sum[i] += part[i];
    }
    const size_t count = std::min(height, rows - row);
    for (size_t i = 0; i < count; ++i)
      std::copy_n(sum.data() + i * columns, columns, out.row(row + i));
    row += count;
  }
}

} // namespace troupe::kernels
