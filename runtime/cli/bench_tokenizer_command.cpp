// `troupe bench tokenizer`: how fast one core turns a file into token ids and
// the ids into text again.
#include "runtime/cli/command.hpp"
#include "runtime/cli/model_options.hpp"
#include "runtime/cli/run_figures.hpp"
#include "runtime/cli/signal_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace troupe::cli {

namespace {

using json = nlohmann::ordered_json;

struct bench_arguments {
  std::string model;
  std::string file;
  uint32_t repeat = 5;
  bool json = false;
};

/// Megabytes of text per second, by repetition.
struct bench_result {
  size_t bytes = 0;
  size_t tokens = 0;
  std::vector<double> encode;
  std::vector<double> decode;
};

/// Of the processor's time, so that a busy machine matters little.
double megabytes_per_second(size_t bytes, std::clock_t start) {
  auto seconds =
    static_cast<double>(std::clock() - start) / double{CLOCKS_PER_SEC};
  return static_cast<double>(bytes) / 1e6 / std::max(seconds, 1e-6);
}

/// Works once without and then `repeat` times with counting.
result<bench_result> measure(const tokenizer& tokens, const std::string& text,
                             uint32_t repeat) {
  bench_result out;
  out.bytes = text.size();
  for (uint32_t i = 0; i <= repeat; ++i) {
    auto start = std::clock();
    auto ids = tokens.encode(text);
    auto encode = megabytes_per_second(text.size(), start);
    if (!ids)
      return tl::unexpected(std::move(ids.error()));
    start = std::clock();
    auto decoded = tokens.decode(*ids);
    auto decode = megabytes_per_second(decoded.size(), start);
    out.tokens = ids->size();
    if (i == 0)
      continue;
    out.encode.push_back(encode);
    out.decode.push_back(decode);
  }
  return out;
}

json spread_json(const spread& x) {
  return {{"median", x.median}, {"min", x.least}, {"max", x.most}};
}

void print_json(const bench_arguments& x, const bench_result& all) {
  json out{{"model", x.model},
           {"file", x.file},
           {"bytes", all.bytes},
           {"tokens", all.tokens},
           {"repetitions", x.repeat},
           {"encode_megabytes_per_second", spread_json(spread_of(all.encode))},
           {"decode_megabytes_per_second", spread_json(spread_of(all.decode))}};
  std::printf("%s\n", out.dump().c_str());
}

void print_row(const char* name, const spread& x) {
  std::printf("%-8s%.2f (%.2f to %.2f) MB/s\n", name, x.median, x.least,
              x.most);
}

void print_text(const bench_arguments& x, const bench_result& all) {
  std::printf("%s, %s: %zu bytes are %zu tokens; median (least to most) of "
              "%u\n",
              x.model.c_str(), x.file.c_str(), all.bytes, all.tokens, x.repeat);
  print_row("encode", spread_of(all.encode));
  print_row("decode", spread_of(all.decode));
}

int run_bench(const bench_arguments& x) {
  signal_watch::unblock();
  auto tokens = need_tokenizer(x.model);
  if (!tokens)
    return report(tokens.error());
  auto text = read_text_file(x.file);
  if (!text)
    return report(text.error());
  if (text->empty())
    return report(
      error{ec::invalid_argument, fmt::format("--file {}: is empty", x.file)});
  auto all = measure(*tokens, *text, x.repeat);
  if (!all)
    return report(all.error());
  if (x.json)
    print_json(x, *all);
  else
    print_text(x, *all);
  return exit_done;
}

} // namespace

void add_bench_tokenizer(CLI::App& bench, action& chosen) {
  auto x = std::make_shared<bench_arguments>();
  auto command = bench.add_subcommand(
    "tokenizer", "measure text to token ids and back, on one core");
  command->footer("examples:\n"
                  "  troupe bench tokenizer --model models/demo --file "
                  "models/demo/heldout/austen.txt\n");
  command->add_option("--model", x->model, "folder that holds tokenizer.json")
    ->required();
  command->add_option("--file", x->file, "text, at most 64 MiB")->required();
  command
    ->add_option("--repeat", x->repeat,
                 "repetitions that count, after one warm-up (default 5)")
    ->check(CLI::Range(1u, 1000u));
  command->add_flag("--json", x->json, "one JSON object");
  command->callback([x, &chosen] { chosen = [x] { return run_bench(*x); }; });
}

} // namespace troupe::cli
