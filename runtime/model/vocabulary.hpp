// The tokens of a model by id and by spelling (as written in the file).
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

/// Ids may have holes; a spelling has one id and an id one spelling.
class vocabulary {
public:
  /// Adds a token; does nothing if it is there already. Fails with
  /// `bad_format` if the id or the spelling is taken by another one, or if
  /// `spelling` is empty. @pre 0 <= id < token_id_limit
  result<void> add(std::string_view spelling, token_id id);

  /// The id of `spelling`, if there is one.
  std::optional<token_id> find(std::string_view spelling) const;

  /// The spelling of `id`; empty if it has none.
  std::string_view spelling(token_id id) const;

  /// Largest id + 1.
  size_t size() const {
    return spellings_.size();
  }

private:
  struct hash {
    using is_transparent = void;
    size_t operator()(std::string_view x) const {
      return std::hash<std::string_view>{}(x);
    }
  };

  std::vector<std::string> spellings_; // by id
  std::unordered_map<std::string, token_id, hash, std::equal_to<>> ids_;
};

} // namespace troupe
