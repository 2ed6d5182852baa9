// Who may be told what from outside: destination actor -> message types. The
// actors write it, the I/O thread reads it for every frame before CAF's BASP
// sees a byte.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

/// A message is named by the type names it holds, joined by '+', as they were
/// registered: "batch" or "@atom+hello". Names of CAF's own types begin with
/// '@'; those that can end or crash an actor ("@exit", "@down", "@message",
/// "@error", actor handles beside an atom, ...) cannot be allowed.
class allow_table {
public:
  enum class answer : uint8_t {
    allowed,
    wrong_type,          ///< Known destination, but not this message.
    unknown_destination, ///< Perhaps an actor that has ended.
  };

  /// Lets `actor` receive exactly `messages` from peers. Replaces what was said
  /// before. Aborts the process on a name that `forbidden` refuses.
  void allow(uint64_t actor, const std::vector<std::string>& messages);

  /// Lets every actor that has no entry of its own receive `messages`.
  void allow_any(const std::vector<std::string>& messages);

  /// Forgets `actor`: frames for it are dropped from now on.
  void revoke(uint64_t actor);

  answer check(uint64_t actor, std::string_view message) const;

  /// Returns whether a message with this name is refused for everyone.
  static bool forbidden(std::string_view message);

private:
  using name_set = std::set<std::string, std::less<>>;

  static name_set checked(const std::vector<std::string>& messages);

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, name_set> entries_;
  name_set any_;
};

} // namespace troupe
