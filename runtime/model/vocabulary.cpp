// See vocabulary.hpp.
#include "runtime/model/vocabulary.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

result<void> vocabulary::add(std::string_view spelling, token_id id) {
  TROUPE_ASSERT(id >= 0 && id < token_id_limit);
  if (spelling.empty())
    return fail(ec::bad_format, "token {} is the empty string", id);
  auto index = static_cast<size_t>(id);
  if (index < spellings_.size() && !spellings_[index].empty() &&
      spellings_[index] != spelling)
    return fail(ec::bad_format, "id {} is given to both \"{}\" and \"{}\"", id,
                spellings_[index], spelling);
  auto [i, is_new] = ids_.emplace(spelling, id);
  if (!is_new && i->second != id)
    return fail(ec::bad_format, "\"{}\" is given both ids {} and {}", spelling,
                i->second, id);
  if (index >= spellings_.size())
    spellings_.resize(index + 1);
  spellings_[index] = spelling;
  return {};
}

std::optional<token_id> vocabulary::find(std::string_view spelling) const {
  auto i = ids_.find(spelling);
  if (i == ids_.end())
    return std::nullopt;
  return i->second;
}

std::string_view vocabulary::spelling(token_id id) const {
  if (id < 0 || static_cast<size_t>(id) >= spellings_.size())
    return {};
  return spellings_[static_cast<size_t>(id)];
}

} // namespace troupe
