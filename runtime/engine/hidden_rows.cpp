// The pool of row buffers.
#include "runtime/engine/hidden_rows.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

struct row_pool::state {
  explicit state(size_t limit) : bytes_max(limit) {
    // nop
  }

  /// The smallest kept buffer of at least `bytes`, or an empty one.
  kernels::aligned_buffer find(size_t bytes) {
    const std::lock_guard guard{mutex};
    auto best = kept.end();
    for (auto i = kept.begin(); i != kept.end(); ++i)
      if (i->size_bytes() >= bytes &&
          (best == kept.end() || i->size_bytes() < best->size_bytes()))
        best = i;
    if (best == kept.end())
      return {};
    auto out = std::move(*best);
    bytes_kept -= out.size_bytes();
    kept.erase(best);
    return out;
  }

  void keep(kernels::aligned_buffer x) {
    const std::lock_guard guard{mutex};
    if (x.size_bytes() + bytes_kept > bytes_max)
      return;
    bytes_kept += x.size_bytes();
    kept.push_back(std::move(x));
  }

  const size_t bytes_max;
  std::mutex mutex; // guards the rest
  size_t bytes_kept = 0;
  std::vector<kernels::aligned_buffer> kept;
};

row_pool::row_pool(size_t bytes_max)
  : state_(std::make_shared<state>(bytes_max)) {
  // nop
}

std::shared_ptr<hidden_rows> row_pool::take(size_t rows, size_t cols,
                                            kernels::dtype type) {
  // Powers of two: the next pass has some rows more or less.
  size_t bytes = 4096;
  while (bytes < rows * cols * kernels::size_of(type))
    bytes *= 2;
  auto out = std::make_unique<hidden_rows>();
  out->type = type;
  out->rows = rows;
  out->cols = cols;
  out->memory = state_->find(bytes);
  if (out->memory.empty())
    out->memory = kernels::aligned_buffer{bytes};
  return {out.release(), [pool = state_](hidden_rows* x) {
            pool->keep(std::move(x->memory));
            delete x;
          }};
}

} // namespace troupe
