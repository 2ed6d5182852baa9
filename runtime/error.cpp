#include "runtime/error.hpp"

#include "runtime/assert.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace troupe {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

std::string_view to_string(ec code) {
  static constexpr std::array<std::string_view, 16> names{"none",
                                                          "invalid_argument",
                                                          "not_found",
                                                          "io",
                                                          "bad_format",
                                                          "unsupported",
                                                          "shape_mismatch",
                                                          "out_of_memory",
                                                          "protocol_mismatch",
                                                          "node_down",
                                                          "deadline_exceeded",
                                                          "overloaded",
                                                          "expert_unavailable",
                                                          "not_finite",
                                                          "cancelled",
                                                          "internal"};
  static_assert(names.size() == static_cast<size_t>(ec::internal) + 1);
  auto index = static_cast<size_t>(code);
  return index < names.size() ? names[index] : "unknown";
}

tl::unexpected<error> wrap(std::string_view where, error cause) {
  cause.message = fmt::format("{}: {}", where, cause.message);
  return tl::unexpected<error>(std::move(cause));
}

} // namespace troupe
