// Regular expressions out of tokenizer files, run by PCRE2. The files are
// written for Oniguruma; where the two differ the pattern is translated, and
// what cannot be translated is refused. Matching has limits: a hostile pattern
// or text ends in an error, not in a hang.
#pragma once

#include "runtime/error.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// A compiled pattern. Immutable, shared by copies, for any number of threads.
class regex {
public:
  static constexpr size_t pattern_bytes_max = 16384;

  /// Fails with `bad_format` (says where in the pattern) or `unsupported`.
  static result<regex> compile(std::string_view pattern);

  /// A pattern that matches exactly the characters of `text`.
  static result<regex> literal(std::string_view text);

private:
  friend class regex_scanner;
  struct compiled;

  std::shared_ptr<const compiled> compiled_;
};

/// Where a match lies in a text, in bytes.
struct text_range {
  size_t begin = 0;
  size_t end = 0;
};

/// Finds matches of one pattern. Holds scratch memory: one per thread.
class regex_scanner {
public:
  explicit regex_scanner(const regex& pattern);
  regex_scanner(regex_scanner&&) noexcept;
  ~regex_scanner();

  /// Returns the first match in `text` at or after byte `from`, if any. Fails
  /// with `invalid_argument` if a limit is hit. @pre `text` is valid UTF-8.
  result<std::optional<text_range>> find(std::string_view text, size_t from);

private:
  struct scratch;

  std::shared_ptr<const regex::compiled> compiled_;
  std::unique_ptr<scratch> scratch_;
};

/// Walks over all matches of a text, from left to right. They do not overlap;
/// an empty one right after the one before is no match.
class match_walk {
public:
  /// @pre `text` is valid UTF-8; both outlive this object
  match_walk(regex_scanner& scanner, std::string_view text)
    : scanner_(scanner), text_(text) {
    // nop
  }

  /// Returns the next match, if there is one more.
  result<std::optional<text_range>> next();

private:
  regex_scanner& scanner_;
  std::string_view text_;
  size_t from_ = 0;
  std::optional<size_t> last_end_;
};

} // namespace troupe
