// The documents of the OpenAI completions API as we speak it, as plain data.
#pragma once

#include "runtime/error.hpp"
#include "runtime/server/completion_service.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// How the answer is delivered.
enum class delivery : uint8_t {
  whole,             ///< One JSON document.
  stream,            ///< Server-sent events.
  stream_with_usage, ///< The same, and a last event with token counts.
};

/// A parsed POST /v1/completions.
struct completion_call {
  completion_request request;
  delivery how = delivery::whole;
};

/// What every document of one answer has in common.
struct completion_header {
  std::string id; ///< "cmpl-..."
  std::string model;
  int64_t created_seconds = 0; ///< Unix time.
  uint64_t seed = 0;           ///< The one used, chosen by us if not given.
};

/// Body and status of an error answer.
struct api_error {
  unsigned status = 500;
  std::string message;
  std::string_view type = "server_error"; ///< Static lifetime.
  std::string code;                       ///< Machine-readable reason.
  std::string param;                      ///< Field at fault; may be empty.
};

/// Returns the refusal of a faulty request.
api_error client_error(unsigned status, std::string message, std::string code);

/// Returns the answer of a server that cannot serve now (503).
api_error unavailable(std::string message, std::string code);

/// Returns the answer to `x`: its status, type and code follow from its code.
api_error to_api_error(const error& x);

} // namespace troupe
