#include "actors/head/cluster_head.hpp"

#include "actors/backbone/backbone.hpp"
#include "actors/dispatch/dispatcher.hpp"
#include "actors/expert/checkpoint_experts.hpp"
#include "actors/fallback/fallback.hpp"
#include "actors/gateway/gateway.hpp"
#include "actors/membership/membership.hpp"
#include "actors/membership/own_hello.hpp"
#include "actors/router/router.hpp"
#include "actors/type_ids.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <condition_variable>
#include <csignal>
#include <utility>

namespace troupe {

struct cluster_head::impl {
  explicit impl(head_options x) : options(std::move(x)) {
    // nop
  }

  result<void> load();
  result<void> run();
  result<void> preload_local_experts();
  std::vector<child_spec> children();
  std::vector<float> score_bias() const;
  child_spec backbone_child();
  child_spec dispatcher_child(layer_index layer);
  child_spec fallback_child();
  child_spec membership_child();
  void publish(const std::function<void(actor_directory&)>& change);
  void restarted(const std::string& role);
  void node_changed(const member& x);
  void inject(const node_fault_order& x);
  result<void> listen_for_nodes();
  result<void> start_workers();
  void say(const std::string& text) const;
  void stop(duration limit, int exit_code);

  head_options options;
  std::unique_ptr<kernels::lanes> lanes;
  std::shared_ptr<const backbone_weights> weights;
  std::shared_ptr<expert_store> store;
  std::shared_ptr<request_ledger> ledger;
  std::shared_ptr<cluster_statistics> stats =
    std::make_shared<cluster_statistics>();
  std::shared_ptr<sequence_totals> totals = std::make_shared<sequence_totals>();
  std::shared_ptr<cluster_view> view = std::make_shared<cluster_view>();
  std::shared_ptr<peer_view> peers = std::make_shared<peer_view>();
  std::shared_ptr<actor_directory_view> directory =
    std::make_shared<actor_directory_view>();
  std::shared_ptr<supervision_status> status =
    std::make_shared<supervision_status>();
  std::shared_ptr<std::atomic<uint64_t>> batch_ids =
    std::make_shared<std::atomic<uint64_t>>(0);
  std::shared_ptr<std::atomic<uint64_t>> pass_ids =
    std::make_shared<std::atomic<uint64_t>>(0);
  std::shared_ptr<fault_plan> faults;
  hello self;
  std::vector<layer_index> moe_layers;
  std::unique_ptr<cluster_system> cluster;
  caf::actor tree;
  caf::strong_actor_ptr door; ///< GATEWAY
  std::mutex door_mutex;
  uint16_t port = 0;
  std::unique_ptr<worker_processes> workers;
  std::mutex change_mutex;
  std::condition_variable change;
};

// -- starting ---------------------------------------------------------------

result<std::unique_ptr<cluster_head>> cluster_head::start(head_options x) {
  auto state = std::make_unique<impl>(std::move(x));
  if (auto ok = state->load(); !ok)
    return tl::unexpected(std::move(ok.error()));
  if (auto ok = state->run(); !ok) {
    state->stop(std::chrono::seconds(3), 1);
    return tl::unexpected(std::move(ok.error()));
  }
  return std::unique_ptr<cluster_head>(new cluster_head(std::move(state)));
}

result<void> cluster_head::impl::load() {
  auto& config = options.model->config;
  for (auto [expert, bias] : options.faults.score_bias)
    if (expert >= config.router.num_experts)
      return fail(ec::invalid_argument,
                  "--fault route:{}: the model has experts 0 to {}", expert,
                  config.router.num_experts - 1);
  lanes = std::make_unique<kernels::lanes>(options.lanes);
  say("loading the backbone");
  auto loaded = load_backbone(*options.model, options.compute, *lanes);
  if (!loaded)
    return tl::unexpected(std::move(loaded.error()));
  weights = std::move(*loaded);
  moe_layers = moe_layers_of(config);
  store =
    open_expert_store(options.model, options.compute, options.fallback_bytes);
  ledger = std::make_shared<request_ledger>(options.requests_max);
  faults = std::make_shared<fault_plan>(options.faults.orders);
  options.schedule.context_tokens = config.max_positions;
  options.schedule.model_stop = options.model->generation.eos_ids;
  return {};
}

result<void> cluster_head::impl::run() {
  cluster = std::make_unique<cluster_system>(
    cluster_options{},
    [](caf::actor_system_config& config) { register_messages(config); });
  self = own_hello(
    *options.model,
    {"head", cluster->incarnation(), options.fallback_bytes, options.compute},
    *lanes);
  if (options.expected_nodes.empty() ||
      options.placement.kind == placement_spec::policy::local)
    if (auto ok = preload_local_experts(); !ok)
      return ok;
  // Children start on the supervisor's own thread; wait until all are known.
  tree = cluster->system().spawn(supervisor, children(), status);
  std::unique_lock guard{change_mutex};
  change.wait_for(guard, std::chrono::seconds(30), [this] {
    auto known = directory->read();
    std::lock_guard door_guard{door_mutex};
    return door != nullptr && known->backbone != nullptr &&
           known->membership != nullptr;
  });
  guard.unlock();
  if (directory->read()->backbone == nullptr)
    return fail(ec::out_of_memory,
                "no memory for a KV cache of {} MiB; ask for less",
                options.cache.bytes_max >> 20);
  if (auto ok = listen_for_nodes(); !ok)
    return ok;
  return start_workers();
}

/// What is LOCAL from the start is read now, not at the first token; as much of
/// it as may be held.
result<void> cluster_head::impl::preload_local_experts() {
  auto experts = options.model->config.router.num_experts;
  std::vector<std::pair<layer_index, expert_id>> wanted;
  for (auto layer : moe_layers)
    for (uint32_t i = 0; i < experts; ++i)
      if (wanted.size() < store->capacity())
        wanted.emplace_back(layer, expert_id{i});
  say(fmt::format("loading {} experts", wanted.size()));
  std::mutex mutex;
  std::optional<error> failure;
  lanes->parallel_for(wanted.size(), [&](size_t i, size_t) {
    auto loaded = store->acquire(wanted[i].first, wanted[i].second);
    std::lock_guard guard{mutex};
    if (!loaded)
      failure = std::move(loaded.error());
  });
  if (failure)
    return tl::unexpected(std::move(*failure));
  return {};
}

result<void> cluster_head::impl::listen_for_nodes() {
  if (!options.cluster_listen)
    return {};
  auto membership = directory->read()->membership;
  auto bound = listen(*cluster, membership, *options.cluster_listen);
  if (!bound)
    return tl::unexpected(std::move(bound.error()));
  port = *bound;
  return {};
}

result<void> cluster_head::impl::start_workers() {
  if (options.workers.empty())
    return {};
  for (auto& worker : options.workers)
    for (auto& argument : worker.arguments)
      if (auto i = argument.find("{port}"); i != std::string::npos)
        argument.replace(i, 6, std::to_string(port));
  say(fmt::format("starting {} workers", options.workers.size()));
  workers =
    std::make_unique<worker_processes>(options.worker_restart, options.workers);
  return workers->start();
}

// -- the supervision tree ---------------------------------------------------

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
       change.notify_all();
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
    services.directory = directory;
    services.on_change = [this](const member& x) { node_changed(x); };
    auto started = parent.system().spawn(membership, std::move(services));
    cluster->transport()->from_nodes->allow(started.id(),
                                            receives::membership());
    return caf::actor_cast<caf::actor>(started);
  };
  return {"membership", options.restart, start, [this](const caf::actor& x) {
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
          }};
}

void cluster_head::impl::publish(
  const std::function<void(actor_directory&)>& edit) {
  directory->update(edit);
  change.notify_all();
}

/// A message to the old actor may be lost: BACKBONE asks again.
void cluster_head::impl::restarted(const std::string& role) {
  send_from_outside(directory->read()->backbone, step_retry{role});
}

// -- nodes ------------------------------------------------------------------

void cluster_head::impl::node_changed(const member& x) {
  // A local process that is dead to us without having ended is frozen: its end
  // makes room for its restart.
  if (x.state == node_state::dead && !x.detector->lost() && workers != nullptr)
    workers->signal(x.name, SIGKILL);
  if (options.on_node)
    options.on_node(x);
  change.notify_all();
}

void cluster_head::impl::inject(const node_fault_order& x) {
  auto kill = x.what == process_fault::kill;
  size_t reached = 0;
  if (workers != nullptr)
    reached = workers->signal(x.node, kill ? SIGKILL : SIGSTOP);
  if (reached == 0 || x.node == "*")
    send_from_outside(directory->read()->membership,
                      fault_order{x.node, kill ? "kill" : "stop"});
}

bool cluster_head::wait_for_nodes(duration limit,
                                  const std::function<bool()>& give_up) {
  auto deadline = steady::now() + limit;
  auto all_serve = [this] {
    auto now = impl_->view->read();
    size_t serving = 0;
    for (auto& name : impl_->options.expected_nodes)
      for (auto& node : now->nodes)
        if (node.name == name && node.state == node_state::alive)
          ++serving;
    return serving == impl_->options.expected_nodes.size();
  };
  std::unique_lock guard{impl_->change_mutex};
  while (!all_serve()) {
    if (steady::now() >= deadline || (give_up && give_up()))
      return false;
    impl_->change.wait_for(guard, std::chrono::milliseconds(20));
  }
  return true;
}

// -- requests ---------------------------------------------------------------

result<sequence_id> cluster_head::submit(generation_request request,
                                         std::shared_ptr<token_sink> sink) {
  if (auto ok = validate(request.params); !ok)
    return tl::unexpected(std::move(ok.error()));
  auto vocabulary = impl_->options.model->config.vocab_size;
  for (auto id : request.prompt)
    if (id < 0 || static_cast<uint32_t>(id) >= vocabulary)
      return fail(ec::invalid_argument,
                  "prompt: token id {}: expected 0 to {} (the vocabulary)", id,
                  vocabulary - 1);
  if (request.prompt.size() >= impl_->options.schedule.context_tokens)
    return fail(ec::invalid_argument,
                "prompt: {} tokens, expected fewer than the model's context "
                "of {}",
                request.prompt.size(), impl_->options.schedule.context_tokens);
  auto id = impl_->ledger->open(std::move(request), std::move(sink));
  if (!id)
    return id;
  std::lock_guard guard{impl_->door_mutex};
  send_from_outside(impl_->door, sequence_opened{*id});
  return id;
}

void cluster_head::cancel(sequence_id id) {
  std::lock_guard guard{impl_->door_mutex};
  send_from_outside(impl_->door, sequence_cancelled{id});
}

sequence_total cluster_head::close(sequence_id id) {
  impl_->ledger->close(id);
  return impl_->totals->take(id);
}

// -- looking ----------------------------------------------------------------

uint16_t cluster_head::cluster_port() const {
  return impl_->port;
}

const head_options& cluster_head::options() const {
  return impl_->options;
}

statistics cluster_head::stats() const {
  return impl_->stats->read();
}

std::shared_ptr<const cluster_snapshot> cluster_head::cluster() const {
  return impl_->view->read();
}

std::vector<child_status> cluster_head::actors() const {
  return impl_->status->read();
}

std::vector<worker_status> cluster_head::workers() const {
  return impl_->workers ? impl_->workers->status()
                        : std::vector<worker_status>{};
}

std::optional<std::string> cluster_head::not_ready() const {
  auto known = impl_->directory->read();
  if (known->backbone == nullptr || known->router == nullptr ||
      known->fallback == nullptr)
    return "an actor is being restarted";
  return std::nullopt;
}

void cluster_head::impl::say(const std::string& text) const {
  if (options.progress)
    options.progress(text);
}

// -- the end ----------------------------------------------------------------

cluster_head::cluster_head(std::unique_ptr<impl> x) : impl_(std::move(x)) {
  // nop
}

cluster_head::~cluster_head() {
  stop(std::chrono::seconds(5), 1);
}

void cluster_head::stop(duration limit, int exit_code) {
  impl_->stop(limit, exit_code);
}

void cluster_head::impl::stop(duration limit, int exit_code) {
  if (!cluster)
    return;
  if (ledger)
    for (auto& x : ledger->unfinished())
      std::ignore = ledger->finish(x.id, finish_reason::cancelled);
  if (workers)
    workers->stop();
  if (tree)
    caf::anon_send_exit(tree, caf::exit_reason::user_shutdown);
  tree = nullptr;
  {
    std::lock_guard guard{door_mutex};
    door = nullptr;
  }
  directory->update([](actor_directory& x) { x = {}; });
  peers->update([](peer_table& x) { x = {}; });
  cluster->shutdown(limit, exit_code);
  cluster.reset();
}

} // namespace troupe
