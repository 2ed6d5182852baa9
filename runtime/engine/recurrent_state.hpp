// What layers without keys and values remember of a sequence: the last inputs
// of their convolutions and the matrices of the delta rule, all in f32. It is
// overwritten as tokens come, unlike a KV cache; but a step that failed is run
// again from the same batch. So each sequence has two copies, each marked with
// the number of tokens it stands after: a pass reads the copy of its first
// position and writes the other one, never in place.
//
//   position 0:  copy 0 = zeros, read; copy 1 written, then "after n"
//   position n:  the copy "after n" is read, the other one written
#pragma once

#include "kernels/tensor.hpp"
#include "runtime/error.hpp"
#include "runtime/model/model_config.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// The parts of one layer's state, in f32.
struct layer_state {
  std::span<float> inputs;   ///< [kernel - 1, channels]: of the convolution
  std::span<float> matrices; ///< In the layout of kernels/gated_delta.hpp.
};

/// Where each layer's part lies.
class state_layout {
public:
  explicit state_layout(const model_config& config);

  /// Floats of all layers; 0 when no layer is recurrent.
  size_t floats() const noexcept {
    return floats_;
  }

  /// The parts of `layer` in `state`, which has `floats()`.
  layer_state part(std::span<float> state, uint32_t layer) const;

  /// Bytes of a sequence's two copies.
  uint64_t sequence_bytes() const noexcept {
    return 2 * uint64_t{floats_} * sizeof(float);
  }

private:
  struct place {
    size_t begin = 0;
    size_t inputs = 0;
    size_t matrices = 0;
  };

  std::vector<place> layers_; ///< [layers]
  size_t floats_ = 0;
};

/// The states of several sequences. A slot belongs to one sequence at a time;
/// who has which is the block_manager's affair.
class state_arena {
public:
  /// No states: for models without recurrent layers.
  state_arena() = default;

  /// Errors: out_of_memory.
  static result<state_arena> make(state_layout layout, uint32_t sequences);

  uint32_t sequences() const noexcept {
    return static_cast<uint32_t>(marks_.size());
  }
  uint64_t size_bytes() const noexcept {
    return memory_.size_bytes();
  }

  /// The two copies as one pass uses them.
  struct step {
    std::span<float> from; ///< After `position` tokens; not to be changed.
    std::span<float> to;   ///< To be filled with what comes after.
  };

  /// Prepares slot `id` for a pass whose first row is at `position`. Until
  /// `end`, nothing stands in the copy that is written.
  /// @pre position is 0, or an earlier pass ended there.
  step begin(uint32_t id, uint32_t position);

  /// All layers are written: the copy stands after `position` tokens.
  void end(uint32_t id, uint32_t position);

  layer_state part(std::span<float> copy, uint32_t layer) const {
    return layout_->part(copy, layer);
  }

private:
  struct marks {
    std::optional<uint32_t> after[2]; ///< Tokens each copy stands after.
    uint32_t written = 0;             ///< The copy of the pass under way.
  };

  std::span<float> copy(uint32_t id, uint32_t which);

  std::optional<state_layout> layout_;
  std::vector<marks> marks_; ///< [sequences]
  kernels::aligned_buffer memory_;
};

} // namespace troupe
