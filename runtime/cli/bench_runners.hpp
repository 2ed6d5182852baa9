// The two ways `bench generate` runs a request: the forward pass in a plain
// loop, and a head with all its actors. Both note when each token comes.
#pragma once

#include "runtime/cli/head_setup.hpp"
#include "runtime/cli/run_figures.hpp"
#include "runtime/engine/local_generator.hpp"

#include <memory>
#include <optional>

namespace troupe::cli {

/// Seconds since it was made.
class stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(steady::now() - start_).count();
  }

private:
  time_point start_ = steady::now();
};

/// The forward pass in a plain loop, on lanes of its own.
class bare_runner {
public:
  /// Loads the whole model. Fails as loading does.
  static result<std::unique_ptr<bare_runner>> make(const head_setup& setup);

  result<generation_times> run(const generation_request& x);

  kernels::lanes& lanes() {
    return *lanes_;
  }

private:
  bare_runner() = default;

  void step(const batch& x);

  std::unique_ptr<kernels::lanes> lanes_;
  std::optional<local_generator> loop_;
  generation_times times_;
  stopwatch watch_;
};

/// A head with all its actors, and its node processes.
class actors_runner {
public:
  /// Starts the head and waits for its nodes.
  static result<std::unique_ptr<actors_runner>> make(head_setup setup);

  ~actors_runner();
  actors_runner(const actors_runner&) = delete;
  actors_runner& operator=(const actors_runner&) = delete;

  result<generation_times> run(const generation_request& x);

private:
  explicit actors_runner(std::unique_ptr<cluster_head> head);

  std::unique_ptr<cluster_head> head_;
};

} // namespace troupe::cli
