#include "runtime/cli/bench_runners.hpp"

#include "runtime/cli/command.hpp"
#include "runtime/cli/read_bandwidth.hpp"

#include <condition_variable>
#include <mutex>

namespace troupe::cli {

namespace {

constexpr auto stop_limit = std::chrono::seconds(3);
/// A generation that takes longer than this does not end.
constexpr auto run_deadline = std::chrono::minutes(30);

/// Notes when each token comes.
class clock_sink final : public token_sink {
public:
  explicit clock_sink(size_t prompt_tokens) {
    times_.prompt_tokens = prompt_tokens;
  }

  void token(sequence_id, uint32_t, token_id) override {
    std::lock_guard guard{mutex_};
    times_.tokens.push_back(watch_.seconds());
  }

  void finished(sequence_id, finish_reason,
                const std::optional<error>& why) override {
    std::lock_guard guard{mutex_};
    why_ = why;
    ended_ = true;
    changed_.notify_all();
  }

  result<generation_times> wait() {
    std::unique_lock guard{mutex_};
    if (!changed_.wait_for(guard, run_deadline, [this] { return ended_; }))
      return fail(ec::deadline_exceeded, "the generation does not end");
    if (why_)
      return tl::unexpected(*why_);
    return times_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  generation_times times_;
  stopwatch watch_;
  std::optional<error> why_;
  bool ended_ = false;
};

} // namespace

result<std::unique_ptr<bare_runner>>
bare_runner::make(const head_setup& setup) {
  auto out = std::unique_ptr<bare_runner>(new bare_runner);
  auto& options = setup.options;
  out->lanes_ = std::make_unique<kernels::lanes>(options.lanes);
  if (options.progress)
    options.progress("bare: loading the model");
  auto images =
    packed_images::open(options.model, options.compute, options.images);
  std::optional<load_meter> meter;
  meter.emplace(options.model,
                bytes_to_load(*options.model, load_scope::whole_model),
                display_for(setup.loading));
  auto model = load_local_model(*images, *out->lanes_);
  meter.reset();
  if (!model)
    return tl::unexpected(std::move(model.error()));
  model->reply = options.reply_type;
  generator_options loop;
  loop.schedule = options.schedule;
  loop.cache = options.cache;
  loop.on_step = [self = out.get()](const batch& x) { self->step(x); };
  auto made =
    local_generator::make(std::move(*model), *out->lanes_, std::move(loop));
  if (!made)
    return tl::unexpected(std::move(made.error()));
  out->loop_.emplace(std::move(*made));
  return out;
}

result<generation_times> bare_runner::run(const generation_request& x) {
  times_ = {x.prompt.size(), {}};
  std::optional<result<std::vector<generated_text>>> out;
  run_on_lane(*lanes_, [&] {
    watch_ = {};
    out = loop_->generate({&x, 1});
  });
  if (!*out)
    return tl::unexpected(std::move(out->error()));
  return times_;
}

void bare_runner::step(const batch& x) {
  for (auto& row : x.rows)
    if (row.output == row_output::logits)
      times_.tokens.push_back(watch_.seconds());
}

result<std::unique_ptr<actors_runner>> actors_runner::make(head_setup setup) {
  auto head = start_head(setup, [] { return false; });
  if (!head)
    return tl::unexpected(std::move(head.error()));
  return std::unique_ptr<actors_runner>(new actors_runner(std::move(*head)));
}

actors_runner::actors_runner(std::unique_ptr<cluster_head> head)
  : head_(std::move(head)) {
  // nop
}

actors_runner::~actors_runner() {
  head_->stop(stop_limit, 0);
}

result<generation_times> actors_runner::run(const generation_request& x) {
  auto sink = std::make_shared<clock_sink>(x.prompt.size());
  auto id = head_->submit(x, sink);
  if (!id)
    return tl::unexpected(std::move(id.error()));
  auto times = sink->wait();
  head_->close(*id);
  return times;
}

} // namespace troupe::cli
