// Expected failures as values: a code, and a message for a person that says
// what, where, expected, found, and what to do about it.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace troupe {

/// What kind of failure it was. Append only: the number crosses the wire.
enum class ec : uint8_t {
  none = 0,
  invalid_argument, ///< An option, field or request has a value we refuse.
  not_found,        ///< A file, tensor, node or actor does not exist.
  io,               ///< The operating system could not read or write.
  bad_format,       ///< A file or message is not what its format demands.
  unsupported,      ///< Valid, but this program cannot do it.
  shape_mismatch,   ///< A tensor, row count or length differs from the model's.
  out_of_memory,    ///< A bound on memory would be crossed.
  protocol_mismatch,  ///< A peer speaks another version or model.
  node_down,          ///< The node that should have answered is gone.
  deadline_exceeded,  ///< No answer in time.
  overloaded,         ///< A queue is at its bound; try again later.
  expert_unavailable, ///< No live node and no local copy holds the expert.
  not_finite,         ///< A reply holds NaN or Inf that its input did not have.
  cancelled,          ///< The client or a shutdown ended it.
  internal,           ///< A bug: please report it.
};

/// Returns the name of `code` as used in messages and JSON, e.g. "not_found".
std::string_view to_string(ec code);

/// An expected failure.
struct error {
  ec code = ec::internal;
  std::string message;
};

template <class T>
using result = tl::expected<T, error>;

/// Builds the error side of a `result` from a format string.
template <class... Ts>
tl::unexpected<error> fail(ec code, fmt::format_string<Ts...> text,
                           Ts&&... xs) {
  return tl::unexpected<error>(
    error{code, fmt::format(text, std::forward<Ts>(xs)...)});
}

/// Puts `where` in front of the message of `cause` ("model: config.json: ...").
tl::unexpected<error> wrap(std::string_view where, error cause);

} // namespace troupe
