// Values as text, as Python writes them: `str`, `repr`, and `json.dumps`.
#pragma once

#include "runtime/template/text_builder.hpp"

namespace troupe::jinja {

/// Python's `str(x)`. Fails on what has no text that is the same everywhere (a
/// function, a namespace).
result<void> append_text(text_builder& out, const value& x);

/// The same as a text.
result<marked_text> to_text(const value& x, budget& spent);

/// Python's `repr(x)`, as elements of lists are written.
result<void> append_repr(text_builder& out, const value& x);

/// Python's `repr` of a float: the shortest digits that read back equal.
std::string float_text(double x);

struct json_layout {
  std::optional<std::string> indent; ///< Of one level; nothing: one line.
  std::optional<std::string>
    item_separator; ///< Nothing: ", ", or "," in lines.
  std::string key_separator = ": ";
  bool ascii_only = false;
  bool sorted_keys = false;
};

/// Python's `json.dumps(x)`. Fails on what JSON cannot say.
result<void> append_json(text_builder& out, const value& x,
                         const json_layout& layout);

} // namespace troupe::jinja
