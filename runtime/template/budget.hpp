// What a template may cost. A template comes with a model from somewhere, and
// messages come from anybody: neither may take the process with it.
#pragma once

#include "runtime/error.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace troupe::jinja {

/// Bounds of parsing and rendering.
struct limits {
  size_t template_bytes_max = size_t{1} << 20;
  /// Nesting: of the syntax, of values, and of what is being evaluated.
  size_t depth_max = 192;
  /// Evaluated expressions and statements, and rounds of loops.
  size_t steps_max = 2'000'000;
  /// Bytes made or looked through, all in all.
  size_t bytes_max = size_t{128} << 20;
  /// One string, the prompt included.
  size_t text_bytes_max = size_t{16} << 20;
  /// Elements of one list.
  size_t items_max = 100'000;
};

/// What one rendering has used. The first bound that is crossed is kept in
/// `failure`, and whoever evaluates asks after every step; so functions that
/// make values need no path of their own for it, but they stop growing them.
class budget {
public:
  explicit budget(const limits& most) : most_(most) {
    // nop
  }

  const limits& most() const {
    return most_;
  }

  /// One expression, statement or round.
  void step();

  /// `bytes` are made or looked through.
  void touch(size_t bytes);

  /// Returns whether a string of `bytes` may be made; if not, that fails.
  bool may_make_text(size_t bytes);

  /// The same for a list of `items`.
  bool may_make_items(size_t items);

  /// Returns whether values may nest `depth` deep.
  bool may_nest(size_t depth);

  bool failed() const {
    return failure_.has_value();
  }

  /// @pre failed()
  const error& failure() const {
    return *failure_;
  }

private:
  void refuse(std::string what);

  limits most_;
  size_t steps_ = 0;
  size_t bytes_ = 0;
  std::optional<error> failure_;
};

} // namespace troupe::jinja
