#include "runtime/server/openai_types.hpp"

#include <utility>

namespace troupe {

api_error client_error(unsigned status, std::string message, std::string code) {
  api_error result;
  result.status = status;
  result.message = std::move(message);
  result.type = "invalid_request_error";
  result.code = std::move(code);
  return result;
}

api_error unavailable(std::string message, std::string code) {
  auto result = client_error(503, std::move(message), std::move(code));
  result.type = "overloaded_error";
  return result;
}

api_error to_api_error(const error& x) {
  api_error result;
  result.message = x.message;
  result.code = to_string(x.code);
  switch (x.code) {
  case ec::invalid_argument:
  case ec::bad_format:
  case ec::unsupported:
  case ec::shape_mismatch:
    result.status = 400;
    result.type = "invalid_request_error";
    break;
  case ec::not_found:
    result.status = 404;
    result.type = "invalid_request_error";
    break;
  case ec::overloaded:
  case ec::out_of_memory:
    result.status = 503;
    result.type = "overloaded_error";
    break;
  case ec::node_down:
  case ec::expert_unavailable:
  case ec::cancelled:
    result.status = 503;
    break;
  case ec::deadline_exceeded:
    result.status = 504;
    break;
  case ec::none:
  case ec::io:
  case ec::protocol_mismatch:
  case ec::not_finite:
  case ec::internal:
    break;
  }
  return result;
}

} // namespace troupe
