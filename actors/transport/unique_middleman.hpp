// CAF's middleman with a random node id. The stock id is made of MAC addresses
// and the process id: two containers can share it, and a restarted one looks
// like its predecessor. The random bytes double as the process's incarnation.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/detail/type_list.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>

namespace troupe {

class unique_middleman final : public caf::io::middleman {
public:
  explicit unique_middleman(caf::actor_system& sys);

  caf::io::network::multiplexer& backend() override;

  void init(caf::actor_system_config& config) override;

  /// CAF's factory of modules: `config.load<unique_middleman>()`.
  static caf::actor_system::module* make(caf::actor_system& sys,
                                         caf::detail::type_list<>);

private:
  caf::io::network::default_multiplexer backend_;
};

} // namespace troupe
