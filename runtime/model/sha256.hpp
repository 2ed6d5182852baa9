// SHA-256 of text that comes in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace troupe {

class sha256 {
public:
  sha256();

  void add(std::string_view text);

  /// 64 hex digits. Once.
  std::string hex();

private:
  struct state;
  struct deleter {
    void operator()(state* x) const;
  };

  std::unique_ptr<state, deleter> state_;
};

} // namespace troupe
