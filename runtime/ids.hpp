// Strong integer ids: an expert cannot be passed where a layer is expected.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace troupe {

/// An integer with a meaning. `Tag` only tells the types apart.
template <class Tag, class Rep>
struct strong_id {
  using rep = Rep;

  Rep value = 0;

  constexpr strong_id() = default;
  constexpr explicit strong_id(Rep x) : value(x) {
    // nop
  }
  constexpr auto operator<=>(const strong_id&) const = default;
};

/// Index of a decoder layer, from 0.
using layer_index = strong_id<struct layer_index_tag, uint32_t>;
/// Index of an expert as the model numbers it (EPLB: logical expert).
using expert_id = strong_id<struct expert_id_tag, uint32_t>;
/// Index of a node in the head's node table; never reused in one head process.
using node_id = strong_id<struct node_id_tag, uint32_t>;
/// One request being generated.
using sequence_id = strong_id<struct sequence_id_tag, uint64_t>;
/// One run of the forward pass over one batch of rows.
using pass_id = strong_id<struct pass_id_tag, uint64_t>;
/// One batch of pairs sent to one destination; unique in the head process.
using batch_id = strong_id<struct batch_id_tag, uint64_t>;

/// A token of the vocabulary, as everybody else writes it.
using token_id = int32_t;

} // namespace troupe

template <class Tag, class Rep>
struct std::hash<troupe::strong_id<Tag, Rep>> {
  size_t operator()(troupe::strong_id<Tag, Rep> x) const noexcept {
    return std::hash<Rep>{}(x.value);
  }
};
