// A way to run `troupe generate` (numbers, nodes, placement, chunks, lanes,
// company, drills), and the promise that the tokens do not depend on it. Runs
// are compared with each other: the reference of a scenario is one process, one
// lane, whole prompts, each prompt alone. Program output: one line a run, with
// the seconds it took.
#pragma once

#include "tests/support/troupe_process.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

enum class token_choice : uint8_t { greedy, sampled };

/// How many sequences run together: one of the three test prompts, all three,
/// or those three with five others that end earlier.
enum class company : uint8_t { alone, three, eight };

struct scenario {
  std::string dtype = "bf16";
  token_choice choice = token_choice::greedy;
  uint32_t workers = 0;
  std::string placement = "round_robin"; ///< "weighted": 1, 2, 3, 1, ...
  uint32_t prefill_chunk = 0;            ///< 0: the whole prompt.
  uint32_t lanes = 1;
  uint32_t worker_lanes = 1;
  company beside = company::three;
  size_t prompt = 0;                        ///< Which one, if alone: 0 to 2.
  std::string isa = {};                     ///< Of the head; empty: the best.
  std::vector<std::string> worker_isa = {}; ///< Of w1, w2, ... in turn.
  std::vector<std::string> faults = {};
  std::vector<std::string> more = {}; ///< Further arguments.
  uint32_t tokens = 200;
};

/// The arguments of `troupe` for a scenario.
std::vector<std::string> arguments_of(const scenario& x);

/// Runs a scenario to its end and checks that it ended well: exit code 0, all
/// tokens there, no process left behind.
troupe_run run_to_length(const scenario& x);

/// Runs a scenario and checks that each test prompt in it got the tokens of its
/// reference; with a kill or stop among the faults, also that pairs were
/// rerouted. Skips (saying so) what this machine has no instructions for.
void check_same_tokens(const scenario& x);

/// The closing line of a run for one prompt (numbered from 0). Null: none.
nlohmann::json closing_line(const troupe_run& run, size_t prompt = 0);

} // namespace troupe::testing
