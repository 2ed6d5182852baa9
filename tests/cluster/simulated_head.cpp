#include "tests/cluster/simulated_head.hpp"

#include "runtime/placement/policies.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/atom.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <utility>

namespace troupe::testing {

namespace {

constexpr auto tick = std::chrono::milliseconds(10);
constexpr auto incarnation_base = uint64_t{100};
constexpr auto local_incarnation = uint64_t{7};
constexpr auto open_max = size_t{16};

/// Loaded once; shared by all simulations.
const local_model& golden_model() {
  static const auto model = [] {
    kernels::lanes pool{{.count = 0}};
    auto opened = open_model("tests/golden/models/qwen3_moe");
    BOOST_TEST_REQUIRE(opened.has_value());
    kernels::compute_options compute;
    compute.mode = kernels::numeric_mode::bf16;
    auto loaded = load_local_model(**opened, compute, pool);
    BOOST_TEST_REQUIRE(loaded.has_value());
    return std::move(*loaded);
  }();
  return model;
}

scheduler_options schedule_of(const local_model& model) {
  scheduler_options x;
  x.prefill_chunk = 5;
  x.max_batch_rows = 16;
  x.context_tokens = model.backbone->config.max_positions;
  x.vocab_size = model.backbone->config.vocab_size;
  x.model_stop = model.stop_ids;
  return x;
}

std::vector<generation_request> make_requests() {
  std::mt19937 random{1};
  std::vector<generation_request> result(3);
  for (size_t i = 0; i < result.size(); ++i) {
    auto& x = result[i];
    for (size_t n = 0; n < 2 + 5 * i; ++n)
      x.prompt.push_back(static_cast<token_id>(random() % 512));
    x.params.max_tokens = 6 + static_cast<uint32_t>(i);
    x.params.ignore_eos = true;
    x.params.temperature = i == 1 ? 0.9f : 0.0f;
    x.params.seed = 7;
  }
  return result;
}

std::vector<std::vector<token_id>> generate_alone() {
  auto& model = golden_model();
  kernels::lanes pool{{.count = 0}};
  auto generator =
    local_generator::make(model, pool, {.schedule = {}, .cache = {}});
  BOOST_TEST_REQUIRE(generator.has_value());
  std::vector<std::vector<token_id>> result;
  for (auto& x : simulated_head::requests()) {
    auto texts = generator->generate(std::span{&x, 1});
    BOOST_TEST_REQUIRE(texts.has_value());
    result.push_back(texts->front().ids);
  }
  return result;
}

} // namespace

/// Checks what a client sees: each token once and in order, then one end.
class simulated_head::log final : public token_sink {
public:
  void token(sequence_id, uint32_t index, token_id token) override {
    BOOST_TEST(index == tokens.size());
    BOOST_TEST(!end.has_value());
    tokens.push_back(token);
  }

  void finished(sequence_id, finish_reason reason,
                const std::optional<error>& why) override {
    BOOST_TEST(!end.has_value());
    end = reason;
    failure = why;
  }

  std::vector<token_id> tokens;
  std::optional<finish_reason> end;
  std::optional<error> failure;
};

const std::vector<generation_request>& simulated_head::requests() {
  static const auto all = make_requests();
  return all;
}

const std::vector<std::vector<token_id>>& simulated_head::expected() {
  static const auto all = generate_alone();
  return all;
}

simulated_head::simulated_head(simulation_options options)
  : decide([](auto&) { return conduct::answer; }), options_(options),
    model_(golden_model()), layers_(moe_layers_of(model_.backbone->config)),
    random_(options.order_seed),
    ledger_(std::make_shared<request_ledger>(open_max)),
    directory_(std::make_shared<actor_directory_view>()),
    view_(std::make_shared<cluster_view>()),
    peers_(std::make_shared<peer_view>()),
    stats_(std::make_shared<cluster_statistics>()),
    totals_(std::make_shared<sequence_totals>()),
    pass_ids_(std::make_shared<std::atomic<uint64_t>>(0)),
    batch_ids_(std::make_shared<std::atomic<uint64_t>>(0)) {
  config_.set("scheduler.policy", caf::atom("testing"));
  system_ = std::make_unique<caf::actor_system>(config_);
  system_->await_actors_before_shutdown(false);
  start_experts(options.nodes);
  for (auto layer : layers_)
    start_dispatcher(layer);
  start_router();
  start_backbone();
  run();
}

simulated_head::~simulated_head() {
  for (auto& x : std::exchange(actors_, {}))
    caf::anon_send_exit(x, caf::exit_reason::kill);
  run();
  schedule().trigger_timeouts(); // they hold actors
  run();
  held.clear();
  directory_->update([](actor_directory& x) { x = {}; });
  peers_->update([](peer_table& x) { x = {}; });
}

caf::scheduler::test_coordinator& simulated_head::schedule() {
  return dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
}

// -- actors -----------------------------------------------------------------

void simulated_head::start_backbone() {
  backbone_services services;
  services.weights = model_.backbone;
  services.lanes = &pool_;
  services.cache.type = kernels::dtype::bf16;
  services.cache.tokens_max = 1024;
  services.schedule = schedule_of(model_);
  services.ledger = ledger_;
  services.directory = directory_;
  services.stats = stats_;
  services.totals = totals_;
  services.pass_ids = pass_ids_;
  services.faults = std::make_shared<fault_plan>();
  auto x = caf::actor_cast<caf::strong_actor_ptr>(
    system_->spawn(backbone, std::move(services)));
  actors_.push_back(x);
  directory_->update([&](actor_directory& known) { known.backbone = x; });
}

void simulated_head::start_router() {
  router_services services{model_.backbone->config.router, directory_, {}};
  auto x = caf::actor_cast<caf::strong_actor_ptr>(
    system_->spawn(router, std::move(services)));
  actors_.push_back(x);
  directory_->update([&](actor_directory& known) { known.router = x; });
}

void simulated_head::start_dispatcher(layer_index layer) {
  dispatch_options decides;
  decides.layer = layer;
  decides.hidden_size = model_.backbone->config.hidden_size;
  decides.reply_type = model_.reply;
  decides.fallback = options_.fallback;
  decides.head_incarnation = 1;
  decides.local_incarnation = local_incarnation;
  dispatch_services services{view_,  directory_, peers_,
                             stats_, nullptr,    batch_ids_};
  auto x = caf::actor_cast<caf::strong_actor_ptr>(
    system_->spawn(dispatcher, decides, std::move(services)));
  actors_.push_back(x);
  directory_->update(
    [&](actor_directory& known) { known.dispatchers[layer] = x; });
}

void simulated_head::start_experts(uint32_t nodes) {
  std::vector<node_id> slots;
  cluster_snapshot snapshot;
  peer_table table;
  for (uint32_t i = 1; i <= nodes; ++i) {
    auto id = node_id{i};
    auto incarnation = incarnation_base + i;
    slots.push_back(id);
    snapshot.nodes.push_back(
      {id, fmt::format("w{}", i), node_state::alive, incarnation});
    peer x{incarnation, start_expert(id), {}, nullptr};
    for (auto layer : layers_)
      x.shards[layer] = x.node;
    peer_link::options link;
    link.id = i;
    link.incarnation = incarnation;
    x.link = std::make_shared<peer_link>(link);
    table.peers.emplace(id, std::move(x));
  }
  auto map = make_shard_map({}, slots, layers_,
                            model_.backbone->config.router.num_experts, 1);
  BOOST_TEST_REQUIRE(map.has_value());
  snapshot.map = std::make_shared<const shard_map>(std::move(*map));
  view_->update([&](cluster_snapshot& x) { x = snapshot; });
  peers_->update([&](peer_table& x) { x = table; });
  // The argument is there for UndefinedBehaviorSanitizer: without any, CAF
  // binds a reference to an empty tuple that does not exist.
  auto membership = system_->spawn(
    [](caf::event_based_actor*, uint32_t* late) -> caf::behavior {
      return {[late](const node_late&) { ++*late; }};
    },
    &late_);
  actors_.push_back(caf::actor_cast<caf::strong_actor_ptr>(membership));
  auto local = start_expert(local_node);
  directory_->update([&](actor_directory& known) {
    known.fallback = local;
    known.membership = actors_[actors_.size() - 2];
  });
}

caf::strong_actor_ptr simulated_head::start_expert(node_id node) {
  auto x = system_->spawn(
    [this](caf::event_based_actor* self, node_id place) -> caf::behavior {
      return {[this, place, self](const expert_batch& batch) {
        take({place, batch, self->current_sender()});
      }};
    },
    node);
  actors_.push_back(caf::actor_cast<caf::strong_actor_ptr>(x));
  return actors_.back();
}

// -- experts ----------------------------------------------------------------

void simulated_head::take(asked_batch x) {
  ++asked_[x.node];
  auto what = decide(x);
  switch (what) {
  case conduct::answer:
  case conduct::answer_twice:
    release(x);
    if (what == conduct::answer_twice)
      release(x);
    return;
  case conduct::hold:
    held.push_back(std::move(x));
    return;
  case conduct::refuse:
    break;
  }
  expert_reply refusal;
  refusal.batch = x.batch.header.batch;
  refusal.node_incarnation = x.batch.header.node_incarnation;
  refusal.layer = x.batch.header.layer;
  refusal.failure = static_cast<uint8_t>(ec::overloaded);
  refusal.message = "refused by the test";
  send_from_outside(x.from, std::move(refusal));
}

void simulated_head::release(const asked_batch& x) {
  auto& header = x.batch.header;
  auto width = size_t{model_.backbone->config.hidden_size};
  auto pairs = x.batch.pairs.as<expert_pair>();
  auto experts = model_.experts->layer(layer_index{header.layer});
  auto bytes = pairs.size() * width * kernels::size_of(model_.reply);
  auto outputs = shared_bytes::allocate(bytes);
  run_expert_batch(
    {x.batch.rows.data(), kernels::dtype::bf16, header.rows, width, width},
    pairs, [&](expert_id e) { return experts->find(e); },
    {outputs.get(), model_.reply, pairs.size(), width, width}, pool_);
  expert_reply reply;
  reply.batch = header.batch;
  reply.node_incarnation = header.node_incarnation;
  reply.layer = header.layer;
  reply.outputs = shared_bytes{std::move(outputs), bytes};
  send_from_outside(x.from, std::move(reply));
}

// -- events -----------------------------------------------------------------

void simulated_head::open_all() {
  for (auto& x : requests()) {
    logs_.push_back(std::make_shared<log>());
    auto id = ledger_->open(x, logs_.back());
    BOOST_TEST_REQUIRE(id.has_value());
    ids_.push_back(*id);
    totals_->open(*id);
    send_from_outside(directory_->read()->backbone, sequence_opened{*id});
  }
}

bool simulated_head::step() {
  auto& jobs = schedule().jobs;
  if (jobs.empty())
    return false;
  std::swap(jobs.front(), jobs[random_() % jobs.size()]);
  schedule().run_once();
  return true;
}

bool simulated_head::run_until(const std::function<bool()>& done) {
  while (!done())
    if (!step())
      return done();
  return true;
}

void simulated_head::run() {
  while (step()) {
    // nop
  }
}

void simulated_head::advance(duration x) {
  for (auto passed = duration::zero(); passed < x; passed += tick) {
    schedule().advance_time(tick);
    run();
  }
}

void simulated_head::end(const caf::strong_actor_ptr& x) {
  caf::anon_send_exit(x, caf::exit_reason::unhandled_exception);
  std::erase(actors_, x);
}

void simulated_head::restart_backbone() {
  end(directory_->read()->backbone);
  start_backbone();
}

void simulated_head::restart_router() {
  end(directory_->read()->router);
  start_router();
  send_from_outside(directory_->read()->backbone, step_retry{"router"});
}

void simulated_head::restart_dispatcher(layer_index layer) {
  end(directory_->read()->dispatcher(layer));
  start_dispatcher(layer);
  send_from_outside(directory_->read()->backbone, step_retry{"dispatcher"});
}

void simulated_head::lose(node_id node) {
  auto incarnation = view_->read()->find(node)->incarnation;
  set_state(*view_, node, incarnation, node_state::dead);
  peers_->update([&](peer_table& x) { x.peers.erase(node); });
  for (auto& [layer, x] : directory_->read()->dispatchers)
    send_from_outside(x, node_lost{node, incarnation});
}

// -- results ----------------------------------------------------------------

node_state simulated_head::state(node_id node) const {
  return view_->read()->find(node)->state;
}

uint32_t simulated_head::asked(node_id node) const {
  auto i = asked_.find(node);
  return i == asked_.end() ? 0 : i->second;
}

std::vector<std::vector<token_id>> simulated_head::tokens() const {
  std::vector<std::vector<token_id>> result;
  for (auto& x : logs_)
    result.push_back(x->tokens);
  return result;
}

std::vector<std::optional<finish_reason>> simulated_head::ends() const {
  std::vector<std::optional<finish_reason>> result;
  for (auto& x : logs_)
    result.push_back(x->end);
  return result;
}

std::vector<std::optional<error>> simulated_head::failures() const {
  std::vector<std::optional<error>> result;
  for (auto& x : logs_)
    result.push_back(x->failure);
  return result;
}

} // namespace troupe::testing
