// `troupe bench generate`: tokens per second of the bare forward pass and of
// the same work through the actors, in pairs of runs one after the other.
#include "runtime/cli/bench_runners.hpp"
#include "runtime/cli/command.hpp"
#include "runtime/cli/head_setup.hpp"
#include "runtime/cli/read_bandwidth.hpp"
#include "runtime/cli/run_figures.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/engine/memory_needs.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

namespace troupe::cli {

namespace {

using json = nlohmann::ordered_json;

struct bench_arguments {
  head_arguments head;
  uint32_t prompt_tokens = 512;
  uint32_t tokens = 32;
  uint32_t repeat = 3;
  uint64_t seed = 1;
  bool bare = false;
  bool actors = false;
  bool json = false;
};

/// Speeds of one way to run, by repetition.
struct series {
  std::vector<double> prefill;
  std::vector<double> decode;

  void add(const generation_speed& x) {
    prefill.push_back(x.prefill);
    decode.push_back(x.decode);
  }
};

struct bench_result {
  std::optional<series> bare;
  std::optional<series> actors;
  double read_bytes_per_second = 0;
  uint64_t token_bytes = 0; ///< Of weights read for one token.
};

/// Random ids: what they are does not matter, that they differ does (they use
/// all experts).
std::vector<token_id> random_prompt(const bench_arguments& x, uint32_t vocab) {
  std::mt19937_64 numbers{x.seed};
  std::vector<token_id> ids(x.prompt_tokens);
  for (auto& id : ids)
    id = static_cast<token_id>(numbers() % vocab);
  return ids;
}

// -- measuring --------------------------------------------------------------

/// Runs once without and then `repeat` times with counting.
class measurement {
public:
  measurement(const bench_arguments& x, generation_request request)
    : arguments_(x), request_(std::move(request)) {
    // nop
  }

  result<bench_result> run(const head_setup& setup) {
    auto both = arguments_.bare == arguments_.actors;
    if (auto ok = prepare(setup, both); !ok)
      return tl::unexpected(std::move(ok.error()));
    bench_result out;
    if (bare_)
      out.bare.emplace();
    if (actors_)
      out.actors.emplace();
    for (uint32_t i = 0; i <= arguments_.repeat; ++i) {
      auto ok = i % 2 == 0 ? run_bare(i, out) : run_actors(i, out);
      if (ok)
        ok = i % 2 == 0 ? run_actors(i, out) : run_bare(i, out);
      if (!ok)
        return tl::unexpected(std::move(ok.error()));
    }
    out.token_bytes =
      weight_bytes_per_token(*setup.options.model, setup.options.compute);
    out.read_bytes_per_second = bandwidth(setup);
    return out;
  }

private:
  result<void> prepare(const head_setup& setup, bool both) {
    if (both || arguments_.bare) {
      auto made = bare_runner::make(setup);
      if (!made)
        return tl::unexpected(std::move(made.error()));
      bare_ = std::move(*made);
    }
    if (both || arguments_.actors) {
      auto made = actors_runner::make(setup);
      if (!made)
        return tl::unexpected(std::move(made.error()));
      actors_ = std::move(*made);
    }
    return {};
  }

  result<void> run_bare(uint32_t i, bench_result& out) {
    return bare_ ? count(i, "bare", *bare_, *out.bare) : result<void>{};
  }

  result<void> run_actors(uint32_t i, bench_result& out) {
    return actors_ ? count(i, "actors", *actors_, *out.actors) : result<void>{};
  }

  template <class Runner>
  result<void> count(uint32_t i, const char* name, Runner& runner,
                     series& out) {
    auto times = runner.run(request_);
    if (!times)
      return wrap(name, std::move(times.error()));
    if (times->tokens.size() != request_.params.max_tokens)
      return fail(ec::internal, "{}: {} tokens came, expected {}", name,
                  times->tokens.size(), request_.params.max_tokens);
    auto speed = speed_of(*times);
    if (!arguments_.head.quiet)
      note(fmt::format("{} {}: prompt {:.1f} tokens/s, decode {:.1f} tokens/s",
                       name, i == 0 ? "warm-up" : fmt::format("run {}", i),
                       speed.prefill, speed.decode));
    if (i > 0)
      out.add(speed);
    return {};
  }

  double bandwidth(const head_setup& setup) {
    if (bare_)
      return measure_read_bandwidth(bare_->lanes());
    kernels::lanes own{setup.options.lanes};
    return measure_read_bandwidth(own);
  }

  const bench_arguments& arguments_;
  generation_request request_;
  std::unique_ptr<bare_runner> bare_;
  std::unique_ptr<actors_runner> actors_;
};

// -- printing ---------------------------------------------------------------

json spread_json(const spread& x) {
  return {{"median", x.median}, {"min", x.least}, {"max", x.most}};
}

json series_json(const series& x, const bench_result& all) {
  auto decode = spread_of(x.decode);
  return {{"prefill_tokens_per_second", spread_json(spread_of(x.prefill))},
          {"decode_tokens_per_second", spread_json(decode)},
          {"decode_share_of_read_bandwidth",
           decode.median * static_cast<double>(all.token_bytes) /
             all.read_bytes_per_second}};
}

json setup_json(const bench_arguments& x, const head_setup& setup) {
  auto& options = setup.options;
  return {{"model", options.model->folder},
          {"dtype", kernels::to_string(options.compute.mode)},
          {"isa", kernels::to_string(options.compute.isa)},
          {"lanes", options.lanes.count},
          {"workers", options.workers.size()},
          {"prompt_tokens", x.prompt_tokens},
          {"tokens", x.tokens},
          {"prefill_chunk", options.schedule.prefill_chunk},
          {"repetitions", x.repeat}};
}

void print_json(const bench_arguments& x, const head_setup& setup,
                const bench_result& all) {
  auto out = setup_json(x, setup);
  if (all.bare)
    out["bare"] = series_json(*all.bare, all);
  if (all.actors)
    out["actors"] = series_json(*all.actors, all);
  if (all.bare && all.actors)
    out["actors_over_bare"] = {
      {"prefill",
       spread_json(ratio_of(all.actors->prefill, all.bare->prefill))},
      {"decode", spread_json(ratio_of(all.actors->decode, all.bare->decode))}};
  out["read_bytes_per_second"] = all.read_bytes_per_second;
  out["weight_bytes_per_token"] = all.token_bytes;
  std::printf("%s\n", out.dump().c_str());
}

std::string cell(const spread& x, int digits) {
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", x.median, digits, x.least,
                     digits, x.most, digits);
}

void print_row(const char* name, const std::string& prefill,
               const std::string& decode, const std::string& share) {
  std::printf("%-12s  %-28s  %-26s  %s\n", name, prefill.c_str(),
              decode.c_str(), share.c_str());
}

void print_series(const char* name, const series& x, const bench_result& all) {
  auto decode = spread_of(x.decode);
  auto share = 100 * decode.median * static_cast<double>(all.token_bytes) /
               all.read_bytes_per_second;
  print_row(name, cell(spread_of(x.prefill), 1), cell(decode, 2),
            fmt::format("{:.0f} %", share));
}

void print_text(const bench_arguments& x, const head_setup& setup,
                const bench_result& all) {
  auto& options = setup.options;
  std::printf("%s, %s, %s, %zu lanes, %zu workers; prompt %u tokens, then %u "
              "tokens; median (least to most) of %u\n",
              options.model->folder.c_str(),
              std::string{kernels::to_string(options.compute.mode)}.c_str(),
              std::string{kernels::to_string(options.compute.isa)}.c_str(),
              options.lanes.count, options.workers.size(), x.prompt_tokens,
              x.tokens, x.repeat);
  print_row("", "prompt, tokens/s", "decode, tokens/s", "of read bandwidth");
  if (all.bare)
    print_series("bare", *all.bare, all);
  if (all.actors)
    print_series("actors", *all.actors, all);
  if (all.bare && all.actors)
    print_row("actors/bare",
              cell(ratio_of(all.actors->prefill, all.bare->prefill), 3),
              cell(ratio_of(all.actors->decode, all.bare->decode), 3), "");
  std::printf("reading memory with %zu threads: %.1f GB/s; %.1f MB of weights "
              "read per token\n",
              options.lanes.count, all.read_bytes_per_second / 1e9,
              static_cast<double>(all.token_bytes) / 1e6);
}

int run_bench(const bench_arguments& x) {
  signal_watch::unblock();
  auto setup = prepare_head(x.head);
  if (!setup)
    return report(setup.error());
  if (x.json)
    setup->loading = load_wish::silent;
  auto& config = setup->options.model->config;
  if (uint64_t{x.prompt_tokens} + x.tokens + 1 > config.max_positions)
    return report(error{
      ec::invalid_argument,
      fmt::format("--prompt-tokens {} and --tokens {}: the model's context has "
                  "{} tokens",
                  x.prompt_tokens, x.tokens, config.max_positions)});
  generation_request request;
  request.prompt = random_prompt(x, config.vocab_size);
  request.params.ignore_eos = true;
  request.params.max_tokens = x.tokens + 1; // the first one ends the prompt
  auto measured = measurement{x, std::move(request)}.run(*setup);
  if (!measured)
    return report(measured.error());
  if (x.json)
    print_json(x, *setup, *measured);
  else
    print_text(x, *setup, *measured);
  return exit_done;
}

void add_bench_generate(CLI::App& bench, action& chosen) {
  auto x = std::make_shared<bench_arguments>();
  auto command = bench.add_subcommand(
    "generate", "measure prompt and decode speed, bare and through the actors");
  command->footer("examples:\n"
                  "  troupe bench generate --model models/demo\n"
                  "  troupe bench generate --model models/demo --actors "
                  "--workers 2 --worker-lanes 1 --json\n"
                  "\n"
                  "Without --bare or --actors both are measured, in turn; both "
                  "then hold the model in memory.\n");
  x->head.declare(*command);
  command
    ->add_option("--prompt-tokens", x->prompt_tokens,
                 "random token ids to begin with (default 512)")
    ->check(CLI::Range(1u, 1u << 20));
  command
    ->add_option("--tokens", x->tokens,
                 "tokens to generate after the first (default 32)")
    ->check(CLI::Range(1u, 1u << 20));
  command
    ->add_option("--repeat", x->repeat,
                 "repetitions that count, after one warm-up (default 3)")
    ->check(CLI::Range(1u, 1000u));
  command->add_option("--seed", x->seed, "of the random prompt (default 1)");
  command->add_flag("--bare", x->bare, "only the bare forward pass");
  command->add_flag("--actors", x->actors, "only through the actors");
  command->add_flag("--json", x->json, "one JSON object");
  command->callback([x, &chosen] { chosen = [x] { return run_bench(*x); }; });
}

} // namespace

void add_bench(CLI::App& app, action& chosen) {
  auto command = app.add_subcommand("bench", "measure this machine's speed");
  command->footer("examples:\n"
                  "  troupe bench generate --model models/demo\n"
                  "  troupe bench tokenizer --model models/demo --file TEXT\n");
  command->require_subcommand(1);
  add_bench_generate(*command, chosen);
  add_bench_tokenizer(*command, chosen);
}

} // namespace troupe::cli
