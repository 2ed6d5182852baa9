// One forward pass over one batch. It cannot wait for experts, so it stops at
// each MoE layer and says what it needs; `resume` goes on:
//
//   start -> moe_request -> resume -> moe_request -> ... -> pass_output
//
// The one implementation of the model: single process, cluster and tests. The
// numbers of a row depend on its sequence only, not on the other rows of the
// batch, on chunking or on the lanes (docs/numerics.md).
#pragma once

#include "kernels/lanes.hpp"
#include "runtime/engine/backbone_weights.hpp"
#include "runtime/engine/batch.hpp"
#include "runtime/engine/kv_cache.hpp"
#include "runtime/engine/moe_exchange.hpp"

#include <memory>
#include <variant>
#include <vector>

namespace troupe {

/// Whether the inputs of the layers are copied out.
enum class hidden_capture : uint8_t { none, all };

struct forward_options {
  uint32_t rows_max = 512; ///< Rows of a batch: bounds the scratch memory.
  hidden_capture capture = hidden_capture::none;
};

/// The end of a pass.
struct pass_output {
  pass_id pass;
  size_t vocab = 0;
  /// [wanted rows, vocab], in the order of the rows that wanted logits.
  std::vector<float> logits;
  /// With capture: element i is the input of layer i, the last element what
  /// comes out of the final norm. Each [rows, H].
  std::vector<std::vector<float>> hidden;

  size_t rows() const {
    return vocab == 0 ? 0 : logits.size() / vocab;
  }
  std::span<const float> row(size_t i) const {
    return std::span{logits}.subspan(i * vocab, vocab);
  }
};

class forward_pass {
public:
  using output = std::variant<moe_request, pass_output>;

  /// `cache` and `pool` outlive the pass. One object runs one pass at a time;
  /// for two passes in flight use two objects (they may share cache and pool).
  forward_pass(std::shared_ptr<const backbone_weights> weights, kv_cache& cache,
               kernels::lanes& pool, forward_options options);
  forward_pass(forward_pass&&) noexcept;
  forward_pass& operator=(forward_pass&&) noexcept;
  ~forward_pass();

  /// Begins a pass; an unfinished one is given up (a failed step is retried by
  /// starting the same batch again). Runs on the caller and on idle lanes.
  /// @pre 1 ... rows_max rows, tokens below the vocabulary size, positions
  /// within their slot's blocks.
  output start(const batch& x);

  /// Work that needs no answer of the experts (shared experts), done while one
  /// is waited for; `resume` does it if nobody asked. Same bits.
  /// @pre waiting()
  void run_ahead();

  /// Adds the experts' outputs, weighted and summed in k order, and goes on.
  /// @pre The last output was a `moe_request` and `y` answers it: same pass and
  /// layer, rows * top_k pairs, vectors of [H] in bf16 or f32.
  output resume(const moe_response& y);

  /// True between a `moe_request` and its `resume`.
  bool waiting() const noexcept;

private:
  struct state;

  std::unique_ptr<state> state_;
};

} // namespace troupe
