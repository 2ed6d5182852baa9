// Replaces the node id right after CAF has made its own.
#include "actors/transport/unique_middleman.hpp"

#include <caf/node_id.hpp>

#include <random>

namespace troupe {

unique_middleman::unique_middleman(caf::actor_system& sys)
  : middleman(sys), backend_(&sys) {
  // nop
}

caf::io::network::multiplexer& unique_middleman::backend() {
  return backend_;
}

void unique_middleman::init(caf::actor_system_config& config) {
  middleman::init(config);
  std::random_device random;
  caf::node_id::default_data::host_id_type host;
  for (auto& byte : host)
    byte = static_cast<uint8_t>(random());
  host[0] |= 1; // All zeros would be an invalid id, as would process 0.
  // CAF offers no setter; no actor exists yet that could have read the id.
  auto& id = const_cast<caf::node_id&>(system().node());
  id = caf::make_node_id(random() | 1u, host);
}

caf::actor_system::module* unique_middleman::make(caf::actor_system& sys,
                                                  caf::detail::type_list<>) {
  return new unique_middleman(sys);
}

} // namespace troupe
