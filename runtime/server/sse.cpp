#include "runtime/server/sse.hpp"

#include <fmt/format.h>

namespace troupe {

std::string sse_event(std::string_view document) {
  std::string result;
  result.reserve(document.size() + 8);
  for (;;) {
    auto end = document.find('\n');
    ((result += "data: ") += document.substr(0, end)) += '\n';
    if (end == std::string_view::npos)
      break;
    document.remove_prefix(end + 1);
  }
  return result += '\n';
}

std::string sse_end() {
  return sse_event("[DONE]");
}

std::string http_chunk(std::string_view payload) {
  if (payload.empty())
    return {};
  return fmt::format("{:x}\r\n{}\r\n", payload.size(), payload);
}

std::string http_last_chunk() {
  return "0\r\n\r\n";
}

} // namespace troupe
