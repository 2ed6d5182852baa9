// Python's operators on values.
#pragma once

#include "runtime/template/syntax.hpp"

namespace troupe::jinja {

/// a + b, a // b, ...: the arithmetic ones of `operation`.
result<value> compute(operation what, const value& a, const value& b,
                      budget& spent);

/// a < b, a in b, ...: those that give a boolean.
result<bool> holds(operation what, const value& a, const value& b,
                   budget& spent);

/// Python's `a in b`.
result<bool> contains(const value& b, const value& a, budget& spent);

result<value> negate(const value& x);

struct slice_bounds {
  value first, last, step; ///< None where nothing is given.
};

/// x[first:last:step] of a string, list or tuple.
result<value> slice(const value& x, const slice_bounds& bounds, budget& spent);

/// format % x.
result<value> format_percent(const marked_text& format, const value& x,
                             budget& spent);

} // namespace troupe::jinja
