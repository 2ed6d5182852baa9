// See text_piece.hpp.
#include "runtime/model/text_piece.hpp"

namespace troupe {

joined_text joined_text::from(std::span<const text_piece> pieces) {
  joined_text out;
  for (const auto& x : pieces) {
    if (x.text.empty())
      continue;
    out.text += x.text;
    if (out.stretches.empty() || out.stretches.back().inside != x.inside)
      out.stretches.push_back({0, x.inside});
    out.stretches.back().end = out.text.size();
  }
  if (out.stretches.empty())
    out.stretches.push_back({});
  return out;
}

} // namespace troupe
