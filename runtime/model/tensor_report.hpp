// How the tensors of a checkpoint differ from what its recipe needs, told in a
// few lines however many there are: names that differ in their numbers only are
// one line, and sizes that many tensors agree on point at the config value that
// does not fit.
#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A tensor that is there, but not as needed.
struct misfit_tensor {
  std::string name;
  std::string file;
  std::string expected; ///< "shape [500, 64]", "BF16 or F32"
  std::string found;    ///< "BF16[512, 64]"
};

class tensor_report {
public:
  /// Lines for tensors; further kinds are counted.
  static constexpr size_t lines_max = 24;

  void missing(std::string name);
  void left_over(std::string name);
  void misfit(misfit_tensor x);

  /// One dimension of a tensor that is there: `size` is what the family calls
  /// it, `expected` its value by config.json.
  void compare_size(const std::string& size, uint64_t expected, uint64_t found);

  /// A tensor whose name has a layer's number.
  void found_layer(uint64_t layer);

  bool good() const {
    return missing_.empty() && left_over_.empty() && misfits_.empty();
  }

  /// What config.json calls a size, for the hints.
  using size_names = std::map<std::string, std::string>;

  /// All of it, with code shape_mismatch. `num_layers` is the recipe's.
  /// @pre not good
  error as_error(const std::string& folder, uint64_t num_layers,
                 const size_names& names) const;

private:
  std::vector<std::string> hints(uint64_t num_layers,
                                 const size_names& names) const;
  std::vector<std::string> lines() const;

  /// Found value of a size -> how many tensors have it.
  using votes = std::map<uint64_t, size_t>;
  struct size_record {
    uint64_t expected = 0;
    votes found;
  };

  std::vector<std::string> missing_;
  std::vector<std::string> left_over_;
  std::vector<misfit_tensor> misfits_;
  std::map<std::string, size_record> sizes_;
  std::map<uint64_t, size_t>
    layers_; ///< Layer -> tensors of it that are there.
};

} // namespace troupe
