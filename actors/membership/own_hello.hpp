// The hello of this process: what it computes with, for the other side to
// check.
#pragma once

#include "actors/transport/hello.hpp"
#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "runtime/model/opened_model.hpp"

namespace troupe {

/// What a process offers beside its model.
struct hello_facts {
  std::string name; ///< "head", or the node's.
  std::array<uint8_t, 24> incarnation{};
  uint64_t memory_bytes = 0;
  kernels::compute_options compute;
};

/// Runs the kernels' probe at the shapes of the model's experts (a few
/// milliseconds on `lanes`) and fills in the rest.
hello own_hello(const opened_model& model, const hello_facts& facts,
                kernels::lanes& lanes);

} // namespace troupe
