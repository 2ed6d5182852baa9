// The list of CAF types that no peer may send, and the table of what each actor
// may be told.
#include "actors/transport/allow_table.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

/// CAF's types that a peer must not send, in whatever company: they stop
/// actors, recurse without bound, allocate by a length of the peer, or (floats)
/// hang the sender's serialiser.
constexpr auto forbidden_types = std::to_array<std::string_view>({
  "@charbuf",
  "@config_value",
  "@down",
  "@downstream_msg",
  "@error",
  "@exit",
  "@group",
  "@group_down",
  "@ldouble",
  "@message",
  "@open_stream_msg",
  "@timeout",
  "@upstream_msg",
  "double",
  "float",
  "",
});

/// CAF takes atom + handle for a link request and casts the handle unchecked.
constexpr std::string_view link_message = "@atom+@strong_actor_ptr";

} // namespace

bool allow_table::forbidden(std::string_view message) {
  if (message == link_message)
    return true;
  while (true) {
    auto end = message.find('+');
    auto type = message.substr(0, end);
    if (std::find(forbidden_types.begin(), forbidden_types.end(), type) !=
        forbidden_types.end())
      return true;
    if (end == std::string_view::npos)
      return false;
    message.remove_prefix(end + 1);
  }
}

allow_table::name_set
allow_table::checked(const std::vector<std::string>& messages) {
  for (const auto& message : messages)
    TROUPE_ASSERT(!forbidden(message));
  return {messages.begin(), messages.end()};
}

void allow_table::allow(uint64_t actor,
                        const std::vector<std::string>& messages) {
  auto names = checked(messages);
  std::lock_guard guard{mutex_};
  entries_.insert_or_assign(actor, std::move(names));
}

void allow_table::allow_any(const std::vector<std::string>& messages) {
  auto names = checked(messages);
  std::lock_guard guard{mutex_};
  any_ = std::move(names);
}

void allow_table::revoke(uint64_t actor) {
  std::lock_guard guard{mutex_};
  entries_.erase(actor);
}

allow_table::answer allow_table::check(uint64_t actor,
                                       std::string_view message) const {
  if (forbidden(message))
    return answer::wrong_type;
  std::lock_guard guard{mutex_};
  auto i = entries_.find(actor);
  const auto& names = i != entries_.end() ? i->second : any_;
  if (names.contains(message))
    return answer::allowed;
  return i != entries_.end() ? answer::wrong_type : answer::unknown_destination;
}

} // namespace troupe
