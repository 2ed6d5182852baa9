#include "actors/gateway/completion_gateway.hpp"

#include "runtime/engine/layer_experts.hpp"
#include "runtime/engine/text_stream.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace troupe {

namespace {

double seconds(duration x) {
  return std::chrono::duration<double>(x).count();
}

completion_stats to_stats(const sequence_total& x) {
  completion_stats out;
  out.remote_pairs = x.remote_pairs;
  out.local_pairs = x.local_pairs;
  out.rerouted_pairs = x.rerouted_pairs;
  out.failures = x.failures;
  out.prefill_seconds = seconds(x.prefill_time);
  out.decode_seconds = seconds(x.decode_time);
  out.remote_wait_seconds = seconds(x.remote_wait);
  return out;
}

head_identity identity_of(const cluster_head& head) {
  const auto& options = head.options();
  head_identity x;
  x.model = options.model->folder;
  x.digest = options.model->digest;
  x.mode = kernels::to_string(options.compute.mode);
  x.isa = kernels::to_string(options.compute.isa);
  x.lanes = options.lanes.count;
  x.policy = to_string(options.placement);
  x.cluster_port = head.cluster_port();
  x.expert_bytes = packed_expert_bytes(options.model->config, options.compute);
  x.started = steady::now();
  return x;
}

} // namespace

// -- what has ended ---------------------------------------------------------

/// The way from the engine's threads to the gateway's own. At most as long as
/// the ledger has entries. Shared with the answers, which may outlive the
/// gateway.
class completion_gateway::ended_answers {
public:
  struct item {
    sequence_id id;
    completion_end end; ///< Without what it cost.
    std::optional<error> why;
    std::shared_ptr<completion_sink> sink;
  };

  void push(item x) {
    std::lock_guard guard{mutex_};
    items_.push_back(std::move(x));
    changed_.notify_one();
  }

  /// Waits for an item; nothing once `stop` was called and all are taken.
  std::optional<item> take() {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [this] { return stopped_ || !items_.empty(); });
    if (items_.empty())
      return std::nullopt;
    auto x = std::move(items_.front());
    items_.pop_front();
    return x;
  }

  void stop() {
    std::lock_guard guard{mutex_};
    stopped_ = true;
    changed_.notify_one();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<item> items_;
  bool stopped_ = false;
};

// -- one answer -------------------------------------------------------------

/// Called under the ledger entry's lock, so by one thread at a time.
class completion_gateway::answer final : public token_sink {
public:
  answer(std::optional<text_stream> text, uint32_t prompt_tokens,
         std::shared_ptr<completion_sink> sink,
         std::shared_ptr<ended_answers> ended)
    : text_(std::move(text)), sink_(std::move(sink)), ended_(std::move(ended)) {
    end_.prompt_tokens = prompt_tokens;
  }

  void token(sequence_id, uint32_t, token_id token) override {
    ++end_.completion_tokens;
    sink_->piece({text_ ? text_->push(token).text : std::string{}, {token}});
  }

  void finished(sequence_id id, finish_reason reason,
                const std::optional<error>& why) override {
    end_.reason = reason;
    if (auto rest = text_ ? text_->flush() : std::string{}; !rest.empty())
      sink_->piece({std::move(rest), {}});
    ended_->push({id, end_, why, std::move(sink_)});
  }

private:
  std::optional<text_stream> text_;
  completion_end end_;
  std::shared_ptr<completion_sink> sink_;
  std::shared_ptr<ended_answers> ended_;
};

// -- the gateway ------------------------------------------------------------

completion_gateway::completion_gateway(cluster_head& head, metrics& counts,
                                       completion_limits names)
  : head_(head), limits_(std::move(names)), metrics_(counts),
    identity_(identity_of(head)), ended_(std::make_shared<ended_answers>()),
    closer_([this] { close_ended(); }) {
  const auto& options = head.options();
  limits_.vocab_size = options.model->config.vocab_size;
  limits_.context_tokens = options.schedule.context_tokens;
}

completion_gateway::~completion_gateway() {
  ended_->stop();
  closer_.join();
}

void completion_gateway::close_ended() {
  while (auto x = ended_->take()) {
    x->end.stats = to_stats(head_.close(x->id));
    switch (x->end.reason) {
    case finish_reason::stop:
    case finish_reason::length:
      x->sink->done(std::move(x->end));
      break;
    case finish_reason::cancelled:
      x->sink->failed({ec::cancelled, "the request was cancelled"});
      break;
    case finish_reason::failed:
      x->sink->failed(x->why.value_or(error{ec::internal, "no reason given"}));
      break;
    }
  }
}

result<std::vector<token_id>>
completion_gateway::encode(const completion_request& x) const {
  if (auto* ids = std::get_if<std::vector<token_id>>(&x.prompt))
    return *ids;
  const auto& text = head_.options().text;
  if (!text)
    return fail(ec::invalid_argument,
                "prompt: this model has no tokenizer; expected a list of token "
                "ids");
  encode_options options;
  options.around = template_tokens::add;
  return text->encode(std::get<std::string>(x.prompt), options);
}

result<request_handle>
completion_gateway::start(completion_request request,
                          std::shared_ptr<completion_sink> sink) {
  auto ids = encode(request);
  if (!ids)
    return tl::unexpected(std::move(ids.error()));
  std::optional<text_stream> text;
  if (const auto& tokens = head_.options().text) {
    auto made = text_stream::make(*tokens, request.params);
    if (!made)
      return tl::unexpected(std::move(made.error()));
    text.emplace(std::move(*made));
  }
  auto prompt_tokens = static_cast<uint32_t>(ids->size());
  auto receiver = std::make_shared<answer>(std::move(text), prompt_tokens,
                                           std::move(sink), ended_);
  auto id = head_.submit({std::move(*ids), std::move(request.params)},
                         std::move(receiver));
  if (!id)
    return tl::unexpected(std::move(id.error()));
  return request_handle{id->value};
}

void completion_gateway::cancel(request_handle handle) {
  head_.cancel(sequence_id{handle.value});
}

std::optional<std::string> completion_gateway::not_ready() const {
  return head_.not_ready();
}

std::string completion_gateway::cluster_json() const {
  return cluster_document({identity_, head_.cluster(), head_.stats(),
                           head_.actors(), head_.workers(), steady::now()});
}

void completion_gateway::before_metrics() {
  metrics_.update(head_.stats(), *head_.cluster(), head_.workers());
}

} // namespace troupe
