// Faults on purpose: what `--fault` says, and when it is due. Pure: it says
// what to do and does nothing. Grammar of one fault:
//
//   kill:NODE@token=N      stop:NODE@token=N      NODE may be * (all)
//   ...@prefill=CHUNK      ...@layer=L
//   slow:NODE=20us         route:EXPERT=+4
//
// token=N: just before token N is sampled; prefill=C: before prompt chunk C;
// layer=L: when the pass first stops at MoE layer L. Each fires once.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// When a fault is due.
struct fault_trigger {
  enum class point : uint8_t { token, prefill, layer };

  point at = point::token;
  uint32_t value = 0;

  bool operator==(const fault_trigger&) const = default;
};

/// What is done to a node's process.
enum class process_fault : uint8_t { kill, stop };

/// One fault of a process.
struct node_fault_order {
  process_fault what = process_fault::kill;
  std::string node; ///< "*": all.
  fault_trigger when;
};

/// What all `--fault` options together ask for.
struct fault_spec {
  std::vector<node_fault_order> orders;
  std::map<std::string, duration> slow; ///< Node -> time per pair.
  std::map<uint32_t, float> score_bias; ///< Expert -> added router score.
};

/// Parses the values of all `--fault` options. Fails with invalid_argument,
/// naming the option's text and the grammar.
result<fault_spec> parse_faults(const std::vector<std::string>& specs);

/// Remembers which faults have fired.
class fault_plan {
public:
  explicit fault_plan(std::vector<node_fault_order> orders = {});

  /// Returns the faults that are due at this point, each once.
  std::vector<node_fault_order> due(fault_trigger now);

  bool empty() const {
    return orders_.empty();
  }

private:
  std::vector<node_fault_order> orders_;
};

} // namespace troupe
