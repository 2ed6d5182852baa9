// Ends a text before the first stop string in it, also when the string comes
// in several pieces. Text that may be the start of a stop string is held back.
// The result does not depend on how the text is cut into pieces: the match
// that is complete first wins; of those that end there, the longest.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class stop_matcher {
public:
  static constexpr size_t stop_strings_max = 16;
  static constexpr size_t stop_string_bytes_max = 256;
  static constexpr size_t stop_ids_max = 64;

  /// What one piece of text led to.
  struct output {
    std::string text;     ///< To be shown now, without the stop string.
    bool stopped = false; ///< A stop string is complete; nothing follows.
  };

  /// Fails with `invalid_argument` on an empty, long or non-UTF-8 string, or
  /// on too many of them.
  static result<stop_matcher> make(std::vector<std::string> stop_strings,
                                   std::vector<token_id> stop_ids);

  /// True if the generation ends at `id`, whose text is then not shown.
  bool is_stop_id(token_id id) const;

  /// Takes the next piece of text. After a stop it returns nothing more.
  output push(std::string_view piece);

  /// Ends the text: returns what was held back.
  std::string flush();

private:
  stop_matcher(std::vector<std::string> stop_strings,
               std::vector<token_id> stop_ids);

  std::vector<std::string> strings_;
  std::vector<token_id> ids_; // sorted
  std::string held_;          // shorter than the longest stop string
  bool stopped_ = false;
};

} // namespace troupe
