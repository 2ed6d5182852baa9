// The checkpoints of tests/golden/models: config.json and the list of their
// tensors. Files of that shape are made of them, with any values.
#pragma once

#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace troupe::test {

struct fixture_tensor {
  std::string name;
  std::string dtype; ///< As in a safetensors header.
  std::vector<uint64_t> shape;

  uint64_t bytes() const;
};

std::string fixture_folder(const std::string& name);

/// config.json of a fixture.
std::string fixture_config(const std::string& name);

/// The tensors of a fixture. Throws if they cannot be read.
std::vector<fixture_tensor> fixture_tensors(const std::string& name);

/// Fixtures whose tensors are in one file.
std::vector<std::string> bound_fixtures();

/// Byte `i` of a tensor.
using fixture_bytes =
  std::function<std::byte(const fixture_tensor& x, uint64_t i)>;

/// Writes config.json and model.safetensors; all bytes are 0 without `bytes`.
void write_model(const scratch_folder& folder, const std::string& config,
                 const std::vector<fixture_tensor>& tensors,
                 const fixture_bytes& bytes = {});

} // namespace troupe::test
