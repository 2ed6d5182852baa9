// `troupe inspect`: what a checkpoint is and what it would take to run it.
// Reads headers only.
#include "runtime/cli/command.hpp"
#include "runtime/cli/model_options.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/cli/size_text.hpp"
#include "runtime/engine/memory_needs.hpp"
#include "runtime/model/canonical_recipe.hpp"
#include "runtime/model/model_facts.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

namespace troupe::cli {

namespace {

using json = nlohmann::ordered_json;

struct inspect_arguments {
  std::string model;
  std::string dtype = "bf16";
  std::vector<uint32_t> nodes{1, 2, 3};
  bool json = false;
};

/// All that is said of a model, for both output formats.
struct inspection {
  model_ptr model;
  bool has_tokenizer = false;
  model_facts facts;
  kernels::compute_options compute;
  memory_needs needs;
  uint64_t token_bytes = 0; ///< Of weights read for one token.
};

/// Experts of one node when `nodes` share them evenly; the largest share.
uint64_t share_of(const inspection& x, uint32_t nodes) {
  const auto& config = x.model->config;
  const uint64_t experts = config.router.num_experts;
  return config.moe_layers() * ((experts + nodes - 1) / nodes);
}

json tensors_json(const opened_model& model) {
  auto list = json::array();
  for (const auto* info : model.tensors.backbone(model.files))
    list.push_back({{"name", info->name},
                    {"dtype", kernels::to_string(info->dtype)},
                    {"shape", info->shape},
                    {"bytes", info->bytes}});
  return list;
}

json recipe_json(const model_config& config) {
  json recipe = json::object();
  std::istringstream lines{canonical_recipe(config)};
  auto layers = json::array();
  for (std::string line; std::getline(lines, line);) {
    auto space = line.find(' ');
    auto key = line.substr(0, space);
    auto value = space == std::string::npos ? "" : line.substr(space + 1);
    if (key == "layers") {
      layers.push_back(value);
      continue;
    }
    auto parsed = json::parse(value, nullptr, false);
    recipe[key] = parsed.is_discarded() ? json(value) : parsed;
  }
  recipe["layers"] = std::move(layers);
  return recipe;
}

json nodes_json(const inspection& x, const std::vector<uint32_t>& counts) {
  auto list = json::array();
  for (auto n : counts) {
    auto wire = wire_bytes_per_token(x.model->config, n, x.compute.mode);
    list.push_back(
      {{"nodes", n},
       {"node_experts", share_of(x, n)},
       {"node_memory_bytes", share_of(x, n) * x.needs.expert_bytes},
       {"wire_bytes_out_per_token", wire.out},
       {"wire_bytes_back_per_token", wire.back}});
  }
  return list;
}

void print_json(const inspection& x, const inspect_arguments& arguments) {
  const auto& model = *x.model;
  json all{{"folder", model.folder},
           {"family", model.config.family},
           {"architecture", model.config.architecture},
           {"supported", true},
           {"digest", model.digest},
           {"tokenizer", x.has_tokenizer},
           {"recipe", recipe_json(model.config)},
           {"parameters",
            {{"total", x.facts.parameters_total},
             {"active", x.facts.parameters_active}}},
           {"stored",
            {{"backbone_bytes", x.facts.backbone_bytes},
             {"expert_bytes", x.facts.expert_bytes},
             {"experts_bytes", x.facts.experts_bytes},
             {"moe_layers", x.facts.moe_layers},
             {"experts", x.facts.experts_total}}},
           {"memory",
            {{"dtype", arguments.dtype},
             {"backbone_bytes", x.needs.backbone_bytes},
             {"expert_bytes", x.needs.expert_bytes},
             {"experts_bytes", x.needs.experts_bytes()},
             {"alone_bytes", x.needs.backbone_bytes + x.needs.experts_bytes()},
             {"kv_bytes_per_token", x.needs.kv_bytes_per_token},
             {"state_bytes_per_sequence", x.needs.state_bytes_per_sequence},
             {"weight_bytes_read_per_token", x.token_bytes}}},
           {"cluster", nodes_json(x, arguments.nodes)},
           {"tensors", tensors_json(model)},
           {"unsupported", json::array()}};
  std::printf("%s\n", all.dump().c_str());
}

void print_sizes(const inspection& x) {
  const auto& facts = x.facts;
  std::printf("parameters\n"
              "  total                 %s\n"
              "  active per token      %s\n"
              "stored\n"
              "  backbone              %s in %zu tensors\n"
              "  experts               %s: %llu in %u layers, %s each\n",
              count_text(facts.parameters_total).c_str(),
              count_text(facts.parameters_active).c_str(),
              bytes_text(facts.backbone_bytes).c_str(),
              x.model->tensors.backbone(x.model->files).size(),
              bytes_text(facts.experts_bytes).c_str(),
              static_cast<unsigned long long>(facts.experts_total),
              facts.moe_layers, bytes_text(facts.expert_bytes).c_str());
}

void print_memory(const inspection& x, const inspect_arguments& arguments) {
  const auto& needs = x.needs;
  auto context = x.model->config.max_positions;
  std::printf(
    "memory (%s)\n"
    "  head, serving alone   %s (backbone %s, experts %s)\n"
    "  keys and values       %s per token, %s per %u tokens of context\n"
    "  read per token        %s of weights\n",
    arguments.dtype.c_str(),
    bytes_text(needs.backbone_bytes + needs.experts_bytes()).c_str(),
    bytes_text(needs.backbone_bytes).c_str(),
    bytes_text(needs.experts_bytes()).c_str(),
    bytes_text(needs.kv_bytes_per_token).c_str(),
    bytes_text(needs.kv_bytes_per_token * context).c_str(), context,
    bytes_text(x.token_bytes).c_str());
  if (needs.state_bytes_per_sequence > 0)
    std::printf("  recurrent state       %s per sequence\n",
                bytes_text(needs.state_bytes_per_sequence).c_str());
  for (auto n : arguments.nodes) {
    auto wire = wire_bytes_per_token(x.model->config, n, x.compute.mode);
    std::printf(
      "  with %2u node%s         head %s, each node %s (%llu experts); "
      "wire per token: %s out at most, %s back\n",
      n, n == 1 ? " " : "s", bytes_text(needs.backbone_bytes).c_str(),
      bytes_text(share_of(x, n) * needs.expert_bytes).c_str(),
      static_cast<unsigned long long>(share_of(x, n)),
      bytes_text(wire.out).c_str(), bytes_text(wire.back).c_str());
  }
}

void print_text(const inspection& x, const inspect_arguments& arguments) {
  const auto& model = *x.model;
  std::printf("%s: %s (%s)\n"
              "digest %s\n"
              "tokenizer %s\n"
              "recipe\n",
              model.folder.c_str(), model.config.architecture.c_str(),
              model.config.family.c_str(), model.digest.c_str(),
              x.has_tokenizer ? "tokenizer.json"
                              : "none (use --ids instead of a prompt)");
  std::istringstream lines{canonical_recipe(model.config)};
  for (std::string line; std::getline(lines, line);)
    std::printf("  %s\n", line.c_str());
  print_sizes(x);
  print_memory(x, arguments);
  std::printf("unsupported\n  nothing\n");
}

/// Says why a model cannot be run, a reason a line; programs read it as JSON.
int refuse(const error& x, const inspect_arguments& arguments) {
  if (arguments.json) {
    auto reasons = json::array();
    std::istringstream lines{x.message};
    for (std::string line; std::getline(lines, line);)
      reasons.push_back(line);
    json all{{"folder", arguments.model},
             {"supported", false},
             {"unsupported", std::move(reasons)}};
    std::printf("%s\n", all.dump().c_str());
  }
  return report(x);
}

int run_inspect(const inspect_arguments& arguments) {
  signal_watch::unblock();
  auto model = open_noted_model(arguments.model);
  if (!model)
    return refuse(model.error(), arguments);
  auto text = open_tokenizer(arguments.model);
  if (!text)
    return report(text.error());
  inspection x;
  x.model = std::move(*model);
  x.has_tokenizer = text->has_value();
  x.facts = facts_of(*x.model);
  x.compute.mode = *kernels::numeric_mode_from_name(arguments.dtype);
  x.needs = memory_needs_of(*x.model, x.compute);
  x.token_bytes = weight_bytes_per_token(*x.model, x.compute);
  if (arguments.json)
    print_json(x, arguments);
  else
    print_text(x, arguments);
  return exit_done;
}

} // namespace

void add_inspect(CLI::App& app, action& chosen) {
  auto x = std::make_shared<inspect_arguments>();
  auto command = app.add_subcommand(
    "inspect", "show a checkpoint's recipe, sizes and the memory it needs");
  command->footer("examples:\n"
                  "  troupe inspect models/demo\n"
                  "  troupe inspect models/demo --nodes 2,4 --dtype f32\n");
  command->add_option("model", x->model, "checkpoint folder")->required();
  command->add_option("--dtype", x->dtype, "numbers to compute in")
    ->check(CLI::IsMember({"bf16", "f32"}));
  command->add_option("--nodes", x->nodes, "numbers of nodes to show sizes for")
    ->delimiter(',')
    ->check(CLI::Range(1u, 1024u));
  command->add_flag("--json", x->json, "one JSON object");
  command->callback([x, &chosen] { chosen = [x] { return run_inspect(*x); }; });
}

} // namespace troupe::cli
