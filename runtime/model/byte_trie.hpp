// A fixed set of byte strings with a number each, made to find all those with
// which a text begins.
#pragma once

#include "runtime/ids.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe {

/// Immutable once made.
class byte_trie {
public:
  struct key {
    std::string_view text;
    token_id id;
  };

  /// @pre no two keys are equal, none is empty, ids are not negative
  explicit byte_trie(std::vector<key> keys = {});

  /// Calls `f(length, id)` for each key that `text` begins with, short ones
  /// first.
  template <class F>
  void for_each_prefix(std::string_view text, F f) const {
    uint32_t at = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      at = child(at, static_cast<uint8_t>(text[i]));
      if (at == 0)
        return;
      if (nodes_[at].id >= 0)
        f(i + 1, nodes_[at].id);
    }
  }

  /// The id of the key `text`; -1 if there is none.
  token_id find(std::string_view text) const;

private:
  struct node {
    uint32_t first = 0; // of its edges
    uint16_t count = 0;
    token_id id = -1;
  };
  struct edge {
    uint8_t byte;
    uint32_t node;
  };

  /// The node behind `byte`; 0 (the root, nobody's child) if there is none.
  uint32_t child(uint32_t at, uint8_t byte) const {
    if (at == 0)
      return root_[byte];
    const auto* edges = edges_.data() + nodes_[at].first;
    for (uint16_t i = 0; i < nodes_[at].count; ++i)
      if (edges[i].byte == byte)
        return edges[i].node;
    return 0;
  }

  std::array<uint32_t, 256> root_{};
  std::vector<node> nodes_;
  std::vector<edge> edges_; // those of a node are neighbours
};

} // namespace troupe
