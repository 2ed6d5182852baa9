#include "tests/cluster/process_scenario.hpp"

#include "kernels/isa.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <stdexcept>

namespace troupe::testing {

namespace {

constexpr auto whole_prompt = 4096u;
constexpr auto prompt_count = size_t{3};
constexpr auto three_prompts = "tests/golden/prompts_three.jsonl";
constexpr auto eight_prompts = "tests/golden/prompts_eight.jsonl";

/// What the tokens of a prompt may depend on.
struct reference_key {
  std::string dtype;
  token_choice choice;
  size_t prompt;
  uint32_t tokens;
  std::vector<std::string> routing; ///< Drills that change the experts chosen.

  auto operator<=>(const reference_key&) const = default;
};

struct reference {
  std::string command_line;
  std::vector<int> ids;
};

/// The text of a test prompt.
std::string text_of(size_t prompt) {
  std::ifstream in{three_prompts};
  std::string line;
  for (size_t i = 0; i <= prompt; ++i)
    if (!std::getline(in, line))
      throw std::runtime_error(fmt::format("{}: no line {}", three_prompts, i));
  return nlohmann::json::parse(line).at("prompt").get<std::string>();
}

std::string placement_of(const scenario& x) {
  if (x.placement != "weighted")
    return x.placement;
  std::vector<uint32_t> weights;
  for (uint32_t i = 0; i < x.workers; ++i)
    weights.push_back(1 + i % 3);
  return fmt::format("weighted:{}", fmt::join(weights, ","));
}

bool is_process_fault(const std::string& fault) {
  return fault.starts_with("kill:") || fault.starts_with("stop:");
}

std::vector<size_t> prompts_of(const scenario& x) {
  if (x.beside == company::alone)
    return {x.prompt};
  return {0, 1, 2};
}

bool supported(const std::string& isa) {
  return isa.empty() || kernels::supported(*kernels::isa_from_name(isa));
}

/// Returns the instructions that this machine lacks for a scenario.
std::vector<std::string> lacking(const scenario& x) {
  std::vector<std::string> result;
  if (!supported(x.isa))
    result.push_back(x.isa);
  for (auto& isa : x.worker_isa)
    if (!supported(isa))
      result.push_back(isa);
  return result;
}

troupe_run run_and_tell(const scenario& x) {
  auto start = std::chrono::steady_clock::now();
  auto run = run_troupe(arguments_of(x), std::chrono::seconds(120));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{:6.2f} s  {}\n", took.count(), run.command_line);
  std::fflush(stdout);
  return run;
}

const reference& reference_of(const reference_key& key) {
  static std::map<reference_key, reference> known;
  auto found = known.find(key);
  if (found != known.end())
    return found->second;
  scenario x{.dtype = key.dtype,
             .choice = key.choice,
             .beside = company::alone,
             .prompt = key.prompt,
             .faults = key.routing,
             .tokens = key.tokens};
  auto run = run_to_length(x);
  auto line = closing_line(run);
  reference fresh{run.command_line, {}};
  if (line.is_object())
    fresh.ids = line.at("ids").get<std::vector<int>>();
  return known.emplace(key, std::move(fresh)).first->second;
}

reference_key key_of(const scenario& x, size_t prompt) {
  reference_key key{x.dtype, x.choice, prompt, x.tokens, {}};
  std::copy_if(x.faults.begin(), x.faults.end(),
               std::back_inserter(key.routing),
               [](auto& fault) { return fault.starts_with("route:"); });
  return key;
}

void compare(const troupe_run& run, const nlohmann::json& line,
             const reference& expected) {
  auto ids = line.at("ids").get<std::vector<int>>();
  auto [at, _] = std::mismatch(ids.begin(), ids.end(), expected.ids.begin(),
                               expected.ids.end());
  BOOST_TEST(ids == expected.ids,
             fmt::format("the tokens differ from token {} on; compare\n  {}\n"
                         "  {}",
                         at - ids.begin(), run.command_line,
                         expected.command_line));
}

} // namespace

std::vector<std::string> arguments_of(const scenario& x) {
  std::vector<std::string> words{"generate",     "--model", "models/demo",
                                 "--ignore-eos", "--json",  "--quiet"};
  auto add = [&](std::string name, std::string value) {
    words.push_back(std::move(name));
    words.push_back(std::move(value));
  };
  add("--max-tokens", std::to_string(x.tokens));
  add("--dtype", x.dtype);
  add("--lanes", std::to_string(x.lanes));
  add("--prefill-chunk",
      std::to_string(x.prefill_chunk == 0 ? whole_prompt : x.prefill_chunk));
  if (x.choice == token_choice::greedy) {
    add("--temperature", "0");
  } else {
    add("--temperature", "0.8");
    add("--top-k", "40");
    add("--top-p", "0.95");
    add("--seed", "7");
  }
  if (x.workers > 0) {
    add("--workers", std::to_string(x.workers));
    add("--worker-lanes", std::to_string(x.worker_lanes));
    add("--placement", placement_of(x));
  }
  if (!x.isa.empty())
    add("--isa", x.isa);
  if (!x.worker_isa.empty())
    add("--worker-isa", fmt::format("{}", fmt::join(x.worker_isa, ",")));
  for (auto& fault : x.faults)
    add("--fault", fault);
  words.insert(words.end(), x.more.begin(), x.more.end());
  if (x.beside == company::alone)
    add("--prompt", text_of(x.prompt));
  else
    add("--prompts",
        x.beside == company::three ? three_prompts : eight_prompts);
  return words;
}

nlohmann::json closing_line(const troupe_run& run, size_t prompt) {
  for (auto& line : run.events)
    if (line.value("event", "") == "done" &&
        line.value("prompt", size_t{0}) == prompt)
      return line;
  return nullptr;
}

troupe_run run_to_length(const scenario& x) {
  auto run = run_and_tell(x);
  BOOST_TEST(run.exited_with(0), describe(run));
  BOOST_TEST(run.left_behind.empty(),
             "processes were left behind by " << run.command_line);
  for (size_t i = 0; i < prompts_of(x).size(); ++i) {
    auto line = closing_line(run, i);
    BOOST_TEST(line.is_object(), describe(run));
    if (!line.is_object())
      continue;
    BOOST_TEST(line.at("finish_reason") == "length", describe(run));
    BOOST_TEST(line.at("ids").size() == x.tokens, describe(run));
  }
  return run;
}

void check_same_tokens(const scenario& x) {
  if (auto missing = lacking(x); !missing.empty()) {
    fmt::print("skipped (this machine has no {}): troupe {}\n",
               fmt::join(missing, ", "), fmt::join(arguments_of(x), " "));
    return;
  }
  auto prompts = prompts_of(x);
  // References first, so that a failure's last line is the run that failed.
  for (auto prompt : prompts)
    reference_of(key_of(x, prompt));
  auto run = run_to_length(x);
  for (size_t i = 0; i < prompts.size(); ++i)
    if (auto line = closing_line(run, i); line.is_object())
      compare(run, line, reference_of(key_of(x, prompts[i])));
  auto line = closing_line(run);
  if (line.is_object() &&
      std::any_of(x.faults.begin(), x.faults.end(), is_process_fault))
    BOOST_TEST(line.at("stats").at("rerouted_pairs").get<uint64_t>() > 0u,
               "the drill did not happen: " << describe(run));
}

} // namespace troupe::testing
