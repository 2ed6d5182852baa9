#include "runtime/cli/command.hpp"

#include <cstdio>

namespace troupe::cli {

int report(const error& x) {
  std::fprintf(stderr, "troupe: %s\n", x.message.c_str());
  return x.code == ec::invalid_argument ? exit_usage : exit_failed;
}

void note(const std::string& text) {
  std::fprintf(stderr, "troupe: %s\n", text.c_str());
}

} // namespace troupe::cli
