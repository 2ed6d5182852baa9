// The head's supervision tree: one child specification per actor.
#include "actors/backbone/backbone.hpp"
#include "actors/dispatch/dispatcher.hpp"
#include "actors/fallback/fallback.hpp"
#include "actors/gateway/gateway.hpp"
#include "actors/head/head_impl.hpp"
#include "actors/membership/membership.hpp"
#include "actors/router/router.hpp"
#include "actors/type_ids.hpp"

#include <caf/actor_system.hpp>

#include <utility>

namespace troupe {

std::vector<child_spec> cluster_head::impl::children() {
  std::vector<child_spec> result;
  result.push_back(fallback_child());
  result.push_back(membership_child());
  for (auto layer : moe_layers)
    result.push_back(dispatcher_child(layer));
  result.push_back({"router", options.restart,
                    [this](caf::event_based_actor& parent) {
                      router_services services{options.model->config.router,
                                               directory, score_bias()};
                      return caf::actor_cast<caf::actor>(
                        parent.system().spawn(router, std::move(services)));
                    },
                    [this](const caf::actor& x) {
                      publish([&](actor_directory& known) {
                        known.router =
                          caf::actor_cast<caf::strong_actor_ptr>(x);
                      });
                      restarted("router");
                    }});
  result.push_back(backbone_child());
  result.push_back(
    {"gateway", options.restart,
     [this](caf::event_based_actor& parent) {
       return caf::actor_cast<caf::actor>(parent.system().spawn(
         gateway, std::shared_ptr<const actor_directory_view>(directory)));
     },
     [this](const caf::actor& x) {
       {
         std::lock_guard guard{door_mutex};
         door = caf::actor_cast<caf::strong_actor_ptr>(x);
       }
       wake();
       send_again();
     }});
  return result;
}

std::vector<float> cluster_head::impl::score_bias() const {
  if (options.faults.score_bias.empty())
    return {};
  std::vector<float> result(options.model->config.router.num_experts);
  for (auto [expert, bias] : options.faults.score_bias)
    result[expert] = bias;
  return result;
}

child_spec cluster_head::impl::fallback_child() {
  auto start = [this](caf::event_based_actor& parent) {
    auto& config = options.model->config;
    auto serves = std::make_shared<expert_services>();
    serves->limits.layers = moe_layers;
    serves->limits.experts = config.router.num_experts;
    serves->limits.hidden_size = config.hidden_size;
    serves->limits.row_type = row_type(options.compute.mode);
    serves->limits.rows_max = options.schedule.max_batch_rows;
    serves->limits.pairs_max =
      options.schedule.max_batch_rows * config.router.top_k;
    serves->limits.incarnation = local_incarnation;
    serves->store = store;
    serves->lanes = lanes.get();
    return caf::actor_cast<caf::actor>(parent.system().spawn(
      fallback, std::shared_ptr<const expert_services>(serves)));
  };
  return {"fallback", options.restart, start, [this](const caf::actor& x) {
            publish([&](actor_directory& known) {
              known.fallback = caf::actor_cast<caf::strong_actor_ptr>(x);
            });
            restarted("fallback");
          }};
}

child_spec cluster_head::impl::membership_child() {
  auto start = [this](caf::event_based_actor& parent) {
    membership_services services;
    services.self = self;
    services.table = options.membership;
    services.heartbeat = options.heartbeat;
    services.placement = options.placement;
    services.expected = options.expected_nodes;
    services.layers = moe_layers;
    services.experts = options.model->config.router.num_experts;
    services.relaxed = options.relaxed;
    services.view = view;
    services.peers = peers;
    services.stats = stats;
    services.directory = directory;
    services.on_change = [this](const member& x) { node_changed(x); };
    auto started = parent.system().spawn(membership, std::move(services));
    cluster->transport()->from_nodes->allow(started.id(),
                                            receives::membership());
    return caf::actor_cast<caf::actor>(started);
  };
  // Nodes hold its address: it cannot be replaced behind their backs. Its end
  // ends the head, and they wait for the next one.
  auto once = options.restart;
  once.limit.intensity = 0;
  return {"membership", once, start, [this](const caf::actor& x) {
            publish([&](actor_directory& known) {
              known.membership = caf::actor_cast<caf::strong_actor_ptr>(x);
            });
          }};
}

child_spec cluster_head::impl::dispatcher_child(layer_index layer) {
  auto start = [this, layer](caf::event_based_actor& parent) {
    dispatch_options decides;
    decides.layer = layer;
    decides.hidden_size = options.model->config.hidden_size;
    decides.reply_type = options.reply_type;
    decides.fallback = options.fallback;
    decides.deadline = options.deadline;
    decides.head_incarnation = short_incarnation(self);
    decides.local_incarnation = local_incarnation;
    dispatch_services services{view,  directory,     peers,
                               stats, options.spans, batch_ids};
    auto started =
      parent.system().spawn(dispatcher, decides, std::move(services));
    cluster->transport()->from_nodes->allow(started.id(),
                                            receives::dispatcher());
    return caf::actor_cast<caf::actor>(started);
  };
  auto id = fmt::format("dispatcher[{}]", layer.value);
  return {id, options.restart, start, [this, layer, id](const caf::actor& x) {
            publish([&](actor_directory& known) {
              auto& place = known.dispatchers[layer];
              if (place)
                cluster->transport()->from_nodes->revoke(place->id());
              place = caf::actor_cast<caf::strong_actor_ptr>(x);
            });
            restarted(id);
          }};
}

child_spec cluster_head::impl::backbone_child() {
  auto start = [this](caf::event_based_actor& parent) {
    backbone_services services;
    services.weights = weights;
    services.lanes = lanes.get();
    services.cache = options.cache;
    services.schedule = options.schedule;
    services.text = options.text;
    services.ledger = ledger;
    services.directory = directory;
    services.stats = stats;
    services.totals = totals;
    services.spans = options.spans;
    services.pass_ids = pass_ids;
    services.faults = faults;
    services.inject = [this](const node_fault_order& x) { inject(x); };
    return caf::actor_cast<caf::actor>(
      parent.system().spawn(backbone, std::move(services)));
  };
  return {"backbone", options.restart, start, [this](const caf::actor& x) {
            publish([&](actor_directory& known) {
              known.backbone = caf::actor_cast<caf::strong_actor_ptr>(x);
            });
            send_again();
          }};
}

/// Requests may have been on their way to an actor that ended; BACKBONE knows
/// those it has.
void cluster_head::impl::send_again() {
  std::lock_guard guard{door_mutex};
  for (auto& x : ledger->unfinished())
    send_from_outside(door, sequence_opened{x.id});
}

void cluster_head::impl::publish(
  const std::function<void(actor_directory&)>& edit) {
  directory->update(edit);
  wake();
}

/// A message to the old actor may be lost: BACKBONE asks again.
void cluster_head::impl::restarted(const std::string& role) {
  send_from_outside(directory->read()->backbone, step_retry{role});
}

} // namespace troupe
