// The first stage of a tokenizer: rewrites text to its normal form.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/pattern_json.hpp"
#include "runtime/model/regex.hpp"
#include "runtime/model/unicode.hpp"

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// Where a stretch of text stands. What belongs in front of a text is put
/// before each section, or before the first one only.
enum class text_place : uint8_t {
  text_start,    ///< Nothing is before it.
  section_start, ///< A token was cut out before it.
  later,         ///< Bytes that are no text stand before it.
};

/// Puts a string before a text that is not empty.
struct prepend_step {
  std::string text;
};

/// Puts `content` in place of each match.
struct replace_step {
  text_pattern pattern;
  std::string content;
};

/// Takes white space off the ends.
struct strip_step {
  bool left = false;
  bool right = false;
};

struct lowercase_step {};

/// Takes all marks away.
struct strip_accents_step {};

/// Takes control characters away, makes many kinds of white space a space.
struct nmt_step {};

using normalizer_step =
  std::variant<normal_form, prepend_step, replace_step, strip_step,
               lowercase_step, strip_accents_step, nmt_step>;

/// The `normalizer` of a tokenizer.json: none, one step or a sequence.
class normalizer {
public:
  static result<normalizer> from_json(const nlohmann::json& x);

  const std::vector<normalizer_step>& steps() const {
    return steps_;
  }

private:
  std::vector<normalizer_step> steps_; // applied in turn
  bool only_forms_ = true;

  friend class text_normalizer;
};

/// Normalizes texts. Holds scratch memory: one per thread.
class text_normalizer {
public:
  /// Longest normalized text, in bytes.
  static constexpr size_t bytes_max = size_t{1} << 28;

  /// `steps` outlive this object.
  explicit text_normalizer(const normalizer& steps);

  /// Returns the normal form of `text`: itself, or a string that lives as
  /// long as this object. @pre `text` is valid UTF-8
  result<std::string_view> apply(std::string_view text, text_place place);

private:
  result<std::string> step(size_t i, std::string text, text_place place);
  result<std::string> replace(size_t i, const replace_step& x,
                              const std::string& text);

  const normalizer* rules_;
  std::vector<std::optional<regex_scanner>> scanners_; // one per step
  std::deque<std::string> texts_;
};

} // namespace troupe
