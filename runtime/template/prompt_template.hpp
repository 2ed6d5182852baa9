// A chat template: parsed once, rendered for each conversation.
//
//   text -> scan -> parse_block -> syntax tree -> evaluator -> marked text
//
// Pure: no file, clock or network. What a template may cost is bounded, and no
// input crashes it.
#pragma once

#include "runtime/template/budget.hpp"
#include "runtime/template/marked_text.hpp"
#include "runtime/template/value.hpp"

#include <ctime>
#include <memory>
#include <optional>
#include <string_view>

namespace troupe::jinja {

struct render_options {
  limits most;
  /// What `strftime_now` says; without it a template that asks is refused.
  std::optional<std::tm> now;
};

/// Immutable; cheap to copy. Any number of threads may render one.
class prompt_template {
public:
  /// Fails with bad_format, unsupported or out_of_memory: "line 3, column 7:
  /// expected ..., found ...".
  static result<prompt_template> parse(std::string_view text,
                                       const limits& most = {});

  /// Renders with `variables`. Fails with invalid_argument (what the template
  /// refuses or cannot use), unsupported, or out_of_memory (a bound is
  /// crossed), each with line and column.
  result<marked_text> render(const dictionary& variables,
                             const render_options& options = {}) const;

private:
  struct program;

  explicit prompt_template(std::shared_ptr<const program> x);

  std::shared_ptr<const program> program_;
};

/// Parses `text` and renders it with the members of `variables_json`, within
/// small bounds. For fuzzing: whatever comes in, it returns.
void exercise(std::string_view text, std::string_view variables_json);

} // namespace troupe::jinja
