// TROUPE_ASSERT: a programmer's error ends the process, in release builds too.
// Bad input is never an assertion: it is an `error` (runtime/error.hpp).
#pragma once

namespace troupe {

/// Prints the failed condition and its place to stderr, then aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file,
                                   int line);

} // namespace troupe

#define TROUPE_ASSERT(condition)                                               \
  ((condition) ? static_cast<void>(0)                                          \
               : ::troupe::assertion_failed(#condition, __FILE__, __LINE__))
