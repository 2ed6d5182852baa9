#include "actors/node/node_process.hpp"

#include "actors/expert/checkpoint_experts.hpp"
#include "actors/membership/own_hello.hpp"
#include "actors/type_ids.hpp"
#include "runtime/engine/backbone_weights.hpp"
#include "runtime/model/model_facts.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <utility>

namespace troupe {

result<std::unique_ptr<node_process>>
node_process::start(node_process_options x) {
  auto model = open_model(x.model);
  if (!model)
    return tl::unexpected(std::move(model.error()));
  return std::unique_ptr<node_process>(
    new node_process(std::move(x), std::move(*model)));
}

node_process::node_process(node_process_options x, model_ptr model)
  : options_(std::move(x)), model_(std::move(model)) {
  auto& config = model_->config;
  auto compute = options_.compute;
  lanes_ = std::make_unique<kernels::lanes>(options_.lanes);
  cluster_ = std::make_unique<cluster_system>(
    cluster_options{}, [](caf::actor_system_config& config_of_system) {
      register_messages(config_of_system);
    });
  node_services services;
  services.self = own_hello(
    *model_,
    {options_.name, cluster_->incarnation(), options_.memory_bytes, compute},
    *lanes_);
  services.head = options_.head;
  services.reconnect = options_.reconnect;
  services.transport = cluster_->transport();
  services.limits.layers = moe_layers_of(config);
  services.limits.experts = config.router.num_experts;
  services.limits.hidden_size = config.hidden_size;
  services.limits.row_type = row_type(compute.mode);
  services.limits.rows_max = options_.rows_max;
  services.limits.pairs_max = options_.rows_max * config.router.top_k;
  services.images = packed_images::open(model_, compute, options_.cache);
  services.store = open_expert_store(services.images, options_.memory_bytes);
  services.lanes = lanes_.get();
  services.delay_per_pair = options_.delay_per_pair;
  services.relaxed = options_.relaxed;
  services.report = options_.report;
  if (options_.loading)
    services.loading = [model = model_, tell = options_.loading,
                        bytes = facts_of(*model_).expert_bytes](size_t count) {
      tell(model, bytes * count);
    };
  node_ = caf::actor_cast<caf::strong_actor_ptr>(
    cluster_->system().spawn(node, std::move(services)));
  failure_ = std::make_shared<published<std::string>>();
  auto system = &cluster_->system();
  caf::actor_cast<caf::actor>(node_)->attach_functor(
    [system, failure = failure_](const caf::error& why) {
      failure->update([&](std::string& text) {
        text = why ? system->render(why) : "the node actor has ended";
      });
    });
}

std::optional<std::string> node_process::failure() const {
  auto why = failure_->read();
  return why->empty() ? std::nullopt : std::optional{*why};
}

void node_process::stop(duration limit, int exit_code) {
  if (!cluster_)
    return;
  caf::anon_send_exit(node_, caf::exit_reason::user_shutdown);
  node_ = nullptr;
  cluster_->shutdown(limit, exit_code);
  cluster_.reset();
}

} // namespace troupe
