// Sequences with random queries, keys and values, their cache, and ways to run
// them, for the tests of attention.
#pragma once

#include "kernels/attention.hpp"
#include "row_support.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace troupe::kernels::test {

/// The cache of one sequence. Unwritten memory holds NaN.
class test_cache {
public:
  test_cache(const kv_layout& layout, size_t tokens) {
    const size_t count = (tokens + kv_block_tokens - 1) / kv_block_tokens;
    for (size_t i = 0; i < count; ++i) {
      memory_.emplace_back(layout.block_bytes());
      std::memset(memory_.back().data(), 0xff, layout.block_bytes());
      blocks_.push_back(memory_.back().data());
    }
  }

  attention_row row(size_t position) const {
    return {position, {blocks_, 0}};
  }

  std::vector<attention_row> rows(size_t tokens) const {
    std::vector<attention_row> all;
    for (size_t i = 0; i < tokens; ++i)
      all.push_back(row(i));
    return all;
  }

  /// Forgets where block `i` is.
  void lose(size_t i) {
    blocks_.at(i) = nullptr;
  }

private:
  std::vector<aligned_buffer> memory_;
  std::vector<std::byte*> blocks_;
};

struct shape {
  size_t heads;
  size_t kv_heads;
  size_t head_dim;
  dtype type;
  size_t value_dim = 0;
  kv_values values = kv_values::own;
};

/// A sequence's projections: q [tokens, heads * head_dim], k [tokens, kv_heads
/// * head_dim], v [tokens, kv_heads * value_size] or nothing.
struct sequence_data {
  attention_options options;
  size_t tokens;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> sinks; ///< Used when `options.sinks` says so.

  size_t q_cols() const {
    return options.heads * options.layout.head_dim;
  }
  size_t k_cols() const {
    return options.layout.kv_heads * options.layout.head_dim;
  }
  size_t v_cols() const {
    return options.layout.kv_heads * options.layout.value_size();
  }
  size_t out_cols() const {
    return options.heads * options.layout.value_size();
  }
};

inline sequence_data random_sequence(random_rows& random, const shape& s,
                                     size_t tokens) {
  sequence_data x;
  x.options.layout = {s.kv_heads, s.head_dim, s.type, s.value_dim, s.values};
  x.options.heads = s.heads;
  x.options.scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim));
  x.tokens = tokens;
  x.q = random.normal(tokens * x.q_cols(), 2.0f);
  x.k = random.normal(tokens * x.k_cols(), 2.0f);
  if (s.values == kv_values::own)
    x.v = random.normal(tokens * x.v_cols());
  x.sinks = random.normal(s.heads, 2.0f);
  return x;
}

/// Stores keys and values of tokens [first, first + count).
inline void store(const sequence_data& x, const test_cache& cache, size_t first,
                  size_t count) {
  lanes pool({.count = 1});
  std::vector<attention_row> rows;
  for (size_t i = 0; i < count; ++i)
    rows.push_back(cache.row(first + i));
  const size_t k = x.k_cols();
  const size_t v = x.v_cols();
  matrix_view<const float> values;
  if (!x.v.empty())
    values = {x.v.data() + first * v, count, v, v};
  store_kv(x.options.layout, rows, {x.k.data() + first * k, count, k, k},
           values, pool);
}

inline test_cache full_cache(const sequence_data& x) {
  test_cache cache(x.options.layout, x.tokens);
  store(x, cache, 0, x.tokens);
  return cache;
}

/// Attends the tokens at `positions`, in this order, to a full cache.
inline std::vector<float> attend(const sequence_data& x,
                                 const test_cache& cache,
                                 const std::vector<size_t>& positions,
                                 lanes& pool) {
  std::vector<attention_row> rows;
  std::vector<float> q;
  for (const size_t position : positions) {
    rows.push_back(cache.row(position));
    const float* from = x.q.data() + position * x.q_cols();
    q.insert(q.end(), from, from + x.q_cols());
  }
  std::vector<float> out(rows.size() * x.out_cols());
  attention(x.options, rows, {q.data(), rows.size(), x.q_cols(), x.q_cols()},
            as_output(out.data(), rows.size(), x.out_cols()), pool);
  return out;
}

/// Runs the sequence in chunks of `chunk` tokens and returns all outputs.
inline std::vector<float> run(const sequence_data& x, size_t chunk,
                              lanes& pool) {
  const test_cache cache(x.options.layout, x.tokens);
  std::vector<float> out;
  for (size_t first = 0; first < x.tokens; first += chunk) {
    const size_t n = std::min(chunk, x.tokens - first);
    store(x, cache, first, n);
    std::vector<size_t> positions;
    for (size_t i = 0; i < n; ++i)
      positions.push_back(first + i);
    const auto part = attend(x, cache, positions, pool);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

/// What a row sees, and whether a sink joins in.
struct variant {
  const char* name;
  size_t window = 0;
  size_t chunk = 0;
  bool sinks = false;

  void apply(sequence_data& x) const {
    x.options.window = window;
    x.options.chunk = chunk;
    x.options.sinks =
      sinks ? std::span<const float>(x.sinks) : std::span<const float>();
  }
};

inline const std::vector<variant> variants{
  {"plain"},
  {"window of one", 1},
  {"window of 7", 7},
  {"window of a block", 64},
  {"window of 100", 100},
  {"chunks of 16", 0, 16},
  {"chunks of 100", 0, 100},
  {"window in chunks", 30, 48},
  {"sinks", 0, 0, true},
  {"sinks and window", 20, 0, true},
};

} // namespace troupe::kernels::test
