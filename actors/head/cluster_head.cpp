#include "actors/head/cluster_head.hpp"

#include "actors/expert/checkpoint_experts.hpp"
#include "actors/head/head_impl.hpp"
#include "actors/local_messages.hpp"
#include "actors/membership/own_hello.hpp"
#include "actors/type_ids.hpp"
#include "runtime/cache/mapped_pages.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <csignal>
#include <utility>

namespace troupe {

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
  images = packed_images::open(options.model, options.compute, options.images);
  auto loaded = load_backbone(*images, *lanes);
  if (!loaded)
    return tl::unexpected(std::move(loaded.error()));
  weights = std::move(*loaded);
  moe_layers = moe_layers_of(config);
  store = open_expert_store(images, options.fallback_bytes);
  ledger = std::make_shared<request_ledger>(options.requests_max);
  faults = std::make_shared<fault_plan>(options.faults.orders);
  options.schedule.context_tokens = config.max_positions;
  options.schedule.model_stop = options.model->generation.eos_ids;
  return {};
}

result<void> cluster_head::impl::run() {
  // Silence is judged by the application's heartbeats, before CAF's.
  options.network.transport.timeout = std::max<duration>(
    options.network.transport.timeout,
    2 * options.membership.detector.dead_after + std::chrono::seconds(3));
  cluster = std::make_unique<cluster_system>(
    options.network,
    [](caf::actor_system_config& config) { register_messages(config); });
  self = own_hello(
    *options.model,
    {"head", cluster->incarnation(), options.fallback_bytes, options.compute},
    *lanes);
  if (options.expected_nodes.empty() ||
      options.placement.kind == placement_spec::policy::local)
    if (auto ok = preload_local_experts(); !ok)
      return ok;
  if (auto pages = pages_of_process())
    stats->update([&](statistics& x) {
      x.process.resident_bytes = pages->resident_bytes;
      x.process.huge_bytes = pages->huge_bytes();
    });
  // Children start on the supervisor's own thread; wait until all are known.
  tree = cluster->system().spawn(supervisor, children(), status);
  tree->attach_functor([this](const caf::error& why) {
    if (!stopping)
      failed(why ? cluster->system().render(why) : "the actors have ended");
  });
  std::unique_lock guard{change_mutex};
  change.wait_for(guard, std::chrono::seconds(30), [this] {
    auto known = directory->read();
    std::lock_guard door_guard{door_mutex};
    return fatal.has_value() ||
           (door != nullptr && known->backbone != nullptr &&
            known->membership != nullptr);
  });
  auto failed_already = fatal;
  guard.unlock();
  if (failed_already)
    return fail(ec::out_of_memory, "the head cannot start: {}",
                *failed_already);
  if (directory->read()->backbone == nullptr)
    return fail(ec::deadline_exceeded, "the head's actors do not start");
  if (auto ok = listen_for_nodes(); !ok)
    return ok;
  return start_workers();
}

/// What is LOCAL from the start is read now, not at the first token; as much of
/// it as may be held.
result<void> cluster_head::impl::preload_local_experts() {
  auto experts = options.model->config.router.num_experts;
  std::vector<expert_key> all;
  for (auto layer : moe_layers)
    for (uint32_t i = 0; i < experts; ++i)
      all.emplace_back(layer, expert_id{i});
  say(
    fmt::format("loading {} experts", std::min(all.size(), store->capacity())));
  return store->preload(all, *lanes);
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
  auto started =
    std::make_shared<worker_processes>(options.worker_restart, options.workers);
  {
    std::lock_guard guard{workers_mutex};
    workers = started;
  }
  return started->start();
}

// -- nodes ------------------------------------------------------------------

void cluster_head::impl::node_changed(const member& x) {
  // A local process that is dead to us without having ended is frozen: its end
  // makes room for its restart.
  auto local = local_workers();
  if (x.state == node_state::dead && !x.detector->lost() && local != nullptr)
    local->signal(x.name, SIGKILL);
  if (options.on_node)
    options.on_node(x);
  wake();
}

void cluster_head::impl::inject(const node_fault_order& x) {
  auto kill = x.what == process_fault::kill;
  size_t reached = 0;
  if (auto local = local_workers())
    reached = local->signal(x.node, kill ? SIGKILL : SIGSTOP);
  if (reached == 0 || x.node == "*")
    send_from_outside(directory->read()->membership,
                      fault_order{x.node, kill ? "kill" : "stop"});
}

bool cluster_head::wait_for_nodes(duration limit,
                                  const std::function<bool()>& give_up) {
  auto deadline = steady::now() + limit;
  // Nobody waits for a local process that failed too often.
  auto given_up = [this](const std::string& name) {
    auto all = workers();
    return std::any_of(all.begin(), all.end(),
                       [&](auto& x) { return x.name == name && x.given_up; });
  };
  size_t serving = 0;
  auto all_settled = [&] {
    auto now = impl_->view->read();
    auto settled = true;
    serving = 0;
    for (auto& name : impl_->options.expected_nodes) {
      auto alive =
        std::any_of(now->nodes.begin(), now->nodes.end(), [&](auto& node) {
          return node.name == name && node.state == node_state::alive;
        });
      serving += alive ? 1 : 0;
      settled = settled && (alive || given_up(name));
    }
    return settled;
  };
  std::unique_lock guard{impl_->change_mutex};
  while (!all_settled()) {
    if (steady::now() >= deadline || impl_->fatal || (give_up && give_up()))
      return false;
    impl_->change.wait_for(guard, std::chrono::milliseconds(20));
  }
  return serving == impl_->options.expected_nodes.size();
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
  impl_->totals->open(*id);
  {
    std::lock_guard guard{impl_->door_mutex};
    send_from_outside(impl_->door, sequence_opened{*id});
  }
  // A failure after this check finds the request in the ledger.
  if (auto why = failure())
    std::ignore = impl_->ledger->finish(*id, finish_reason::failed,
                                        error{ec::internal, *why});
  return id;
}

void cluster_head::cancel(sequence_id id) {
  // First in the ledger: whoever runs it learns from there.
  std::ignore = impl_->ledger->finish(id, finish_reason::cancelled);
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
  auto out = impl_->stats->read();
  out.process.bytes_read = impl_->images->stats().bytes_read;
  return out;
}

std::shared_ptr<const cluster_snapshot> cluster_head::cluster() const {
  return impl_->view->read();
}

std::vector<child_status> cluster_head::actors() const {
  return impl_->status->read();
}

std::vector<worker_status> cluster_head::workers() const {
  auto local = impl_->local_workers();
  return local ? local->status() : std::vector<worker_status>{};
}

std::optional<std::string> cluster_head::not_ready() const {
  auto known = impl_->directory->read();
  if (known->backbone == nullptr || known->router == nullptr ||
      known->fallback == nullptr)
    return "an actor is being restarted";
  return std::nullopt;
}

std::optional<std::string> cluster_head::failure() const {
  std::lock_guard guard{impl_->change_mutex};
  return impl_->fatal;
}

std::shared_ptr<worker_processes> cluster_head::impl::local_workers() {
  std::lock_guard guard{workers_mutex};
  return workers;
}

/// The lock orders this after the check of whoever is about to wait.
void cluster_head::impl::wake() {
  { std::lock_guard guard{change_mutex}; }
  change.notify_all();
}

void cluster_head::impl::failed(const std::string& why) {
  {
    std::lock_guard guard{change_mutex};
    fatal = why;
  }
  wake();
  if (ledger)
    for (auto& x : ledger->unfinished())
      std::ignore = ledger->finish(
        x.id, finish_reason::failed,
        error{ec::internal, fmt::format("the head has failed: {}", why)});
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
  stopping = true;
  if (ledger)
    for (auto& x : ledger->unfinished())
      std::ignore = ledger->finish(x.id, finish_reason::cancelled);
  if (auto local = local_workers())
    local->stop();
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
