// `troupe eval`: a model's numbers for known tokens, in this process alone.
#include "runtime/cli/command.hpp"
#include "runtime/cli/load_meter.hpp"
#include "runtime/cli/model_options.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/engine/perplexity.hpp"
#include "runtime/engine/sequence_pass.hpp"
#include "runtime/model/safetensors_writer.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace troupe::cli {

namespace {

struct logits_arguments {
  model_options model;
  std::string ids;
  std::string output;
  bool hidden = false;
};

struct perplexity_arguments {
  model_options model;
  std::string file;
  uint32_t context = 256;
  bool json = false;
};

/// A model in memory, ready to run on its lanes.
struct ready_model {
  std::unique_ptr<kernels::lanes> lanes;
  local_model model;
};

result<ready_model> load(const model_options& x, load_wish wish) {
  if (auto ok = need_model(x.folder); !ok)
    return tl::unexpected(std::move(ok.error()));
  auto compute = x.compute();
  if (!compute)
    return tl::unexpected(std::move(compute.error()));
  auto opened = open_noted_model(x.folder);
  if (!opened)
    return tl::unexpected(std::move(opened.error()));
  ready_model out;
  out.lanes = std::make_unique<kernels::lanes>(x.lane_options());
  load_meter meter{*opened, bytes_to_load(**opened, load_scope::whole_model),
                   display_for(wish)};
  auto images = packed_images::open(std::move(*opened), *compute, x.cache());
  auto loaded = load_local_model(*images, *out.lanes);
  if (!loaded)
    return tl::unexpected(std::move(loaded.error()));
  out.model = std::move(*loaded);
  return out;
}

// -- logits -----------------------------------------------------------------

tensor_source tensor_of(std::string name, const std::vector<float>& values,
                        uint64_t rows) {
  return {std::move(name),
          kernels::dtype::f32,
          {rows, values.size() / rows},
          std::as_bytes(std::span{values})};
}

int run_logits(const logits_arguments& x) {
  signal_watch::unblock();
  auto ids = parse_ids(x.ids);
  if (!ids)
    return report(ids.error());
  auto ready = load(x.model, load_wish::shown);
  if (!ready)
    return report(ready.error());
  sequence_pass_options options;
  if (x.hidden)
    options.capture = hidden_capture::all;
  auto out = evaluate_sequence(*ids, ready->model, *ready->lanes, options);
  if (!out)
    return report(out.error());
  std::vector<tensor_source> tensors;
  tensors.push_back(tensor_of("logits", out->logits, ids->size()));
  for (size_t i = 0; i < out->hidden.size(); ++i)
    tensors.push_back(
      tensor_of(fmt::format("hidden.{}", i), out->hidden[i], ids->size()));
  if (auto written = write_safetensors(x.output, tensors); !written)
    return report(written.error());
  return exit_done;
}

// -- perplexity -------------------------------------------------------------

int run_perplexity(const perplexity_arguments& x) {
  signal_watch::unblock();
  auto tokens = need_tokenizer(x.model.folder);
  if (!tokens)
    return report(tokens.error());
  auto text = read_text_file(x.file);
  if (!text)
    return report(text.error());
  auto ids = tokens->encode(*text);
  if (!ids)
    return report(ids.error());
  auto ready = load(x.model, x.json ? load_wish::silent : load_wish::shown);
  if (!ready)
    return report(ready.error());
  perplexity_options options;
  options.context = x.context;
  auto next = steady::now() + std::chrono::seconds(2);
  options.progress = [&](size_t done, size_t total) {
    if (steady::now() < next)
      return;
    next = steady::now() + std::chrono::seconds(2);
    note(fmt::format("{} of {} tokens", done, total));
  };
  auto found = measure_perplexity(*ids, ready->model, options, *ready->lanes);
  if (!found)
    return report(found.error());
  if (x.json)
    std::printf("%s\n",
                nlohmann::ordered_json{{"nll", found->nll},
                                       {"perplexity", std::exp(found->nll)},
                                       {"tokens", found->tokens},
                                       {"context", x.context}}
                  .dump()
                  .c_str());
  else
    std::printf("nll %.6f nats per token (perplexity %.3f) over %llu tokens, "
                "blocks of %u\n",
                found->nll, std::exp(found->nll),
                static_cast<unsigned long long>(found->tokens), x.context);
  return exit_done;
}

void add_logits(CLI::App& eval, action& chosen) {
  auto x = std::make_shared<logits_arguments>();
  auto command = eval.add_subcommand(
    "logits", "write the logits of every position to a safetensors file");
  command->footer("examples:\n"
                  "  troupe eval logits --model models/demo --ids 5,17 --dtype "
                  "f32 --output out.safetensors\n");
  x->model.declare(*command);
  command->add_option("--ids", x->ids, "token ids, e.g. 1,2,3")->required();
  command
    ->add_option("--output", x->output,
                 "file to write: tensor \"logits\" f32 [tokens, vocabulary]")
    ->required();
  command->add_flag("--hidden", x->hidden,
                    "add \"hidden.<i>\": the input of layer i, and what comes "
                    "out of the final norm");
  command->callback([x, &chosen] { chosen = [x] { return run_logits(*x); }; });
}

void add_perplexity(CLI::App& eval, action& chosen) {
  auto x = std::make_shared<perplexity_arguments>();
  auto command = eval.add_subcommand(
    "perplexity", "print the mean negative log-likelihood of a text");
  command->footer("examples:\n"
                  "  troupe eval perplexity --model models/demo --file "
                  "models/demo/heldout/austen.txt\n"
                  "\n"
                  "The text is cut into consecutive blocks, each scored from "
                  "its second token on; no token is added.\n");
  x->model.declare(*command);
  command->add_option("--file", x->file, "the text")->required();
  command->add_option("--context", x->context, "tokens per block (default 256)")
    ->check(CLI::Range(2u, 1u << 24));
  command->add_flag("--json", x->json, "one JSON object");
  command->callback(
    [x, &chosen] { chosen = [x] { return run_perplexity(*x); }; });
}

} // namespace

void add_eval(CLI::App& app, action& chosen) {
  auto command =
    app.add_subcommand("eval", "compute a model's numbers for known tokens");
  command->footer("examples:\n"
                  "  troupe eval logits --model models/demo --ids 5,17 "
                  "--output out.safetensors\n"
                  "  troupe eval perplexity --model models/demo --file "
                  "models/demo/heldout/austen.txt\n");
  command->require_subcommand(1);
  add_logits(*command, chosen);
  add_perplexity(*command, chosen);
}

} // namespace troupe::cli
