// See byte_trie.hpp.
#include "runtime/model/byte_trie.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Sorted keys [begin, end) that agree in their first `depth` bytes.
struct key_range {
  size_t begin;
  size_t end;
  size_t depth;
};

} // namespace

byte_trie::byte_trie(std::vector<key> keys) {
  std::sort(keys.begin(), keys.end(),
            [](const key& x, const key& y) { return x.text < y.text; });
  std::vector<key_range> ranges{{0, keys.size(), 0}}; // by node
  nodes_.emplace_back();
  for (size_t at = 0; at < nodes_.size(); ++at) {
    auto [begin, end, depth] = ranges[at];
    if (begin < end && keys[begin].text.size() == depth)
      nodes_[at].id = keys[begin++].id;
    nodes_[at].first = static_cast<uint32_t>(edges_.size());
    while (begin < end) {
      auto byte = static_cast<uint8_t>(keys[begin].text[depth]);
      auto next = begin;
      while (next < end && static_cast<uint8_t>(keys[next].text[depth]) == byte)
        ++next;
      auto child = static_cast<uint32_t>(nodes_.size());
      edges_.push_back({byte, child});
      ++nodes_[at].count;
      if (at == 0)
        root_[byte] = child;
      nodes_.emplace_back();
      ranges.push_back({begin, next, depth + 1});
      begin = next;
    }
  }
}

token_id byte_trie::find(std::string_view text) const {
  uint32_t at = 0;
  for (char c : text) {
    at = child(at, static_cast<uint8_t>(c));
    if (at == 0)
      return -1;
  }
  return nodes_[at].id;
}

} // namespace troupe
