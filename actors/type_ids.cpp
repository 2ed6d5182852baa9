#include "actors/type_ids.hpp"

#include "actors/messages.hpp"

#include <caf/actor_system_config.hpp>

namespace troupe {

void register_messages(caf::actor_system_config& config) {
  config.add_message_type<expert_batch>("batch")
    .add_message_type<expert_rows_piece>("rows")
    .add_message_type<expert_reply>("reply")
    .add_message_type<node_join>("join")
    .add_message_type<node_welcome>("welcome")
    .add_message_type<node_refused>("refused")
    .add_message_type<node_assignment>("assign")
    .add_message_type<node_ready>("ready")
    .add_message_type<node_heartbeat>("beat")
    .add_message_type<link_credit>("credit")
    .add_message_type<node_fault>("fault");
}

namespace receives {

std::vector<std::string> membership() {
  return {"join", "ready", "beat", "credit"};
}

std::vector<std::string> dispatcher() {
  return {"reply"};
}

std::vector<std::string> node() {
  return {"welcome", "refused", "assign", "credit", "fault"};
}

std::vector<std::string> expert_shard() {
  return {"batch", "rows"};
}

} // namespace receives

} // namespace troupe
