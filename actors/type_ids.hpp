// The one list of message types that cross processes, by the name that travels
// with each message (short: it is part of every frame). Append only.
#pragma once

#include <string>
#include <vector>

namespace caf {
class actor_system_config;
} // namespace caf

namespace troupe {

/// Registers all types of actors/messages.hpp with an actor system.
void register_messages(caf::actor_system_config& config);

/// Names for the frame guard's allow table: what each role may receive.
namespace receives {
std::vector<std::string> membership();
std::vector<std::string> dispatcher();
std::vector<std::string> node();
std::vector<std::string> expert_shard();
} // namespace receives

} // namespace troupe
