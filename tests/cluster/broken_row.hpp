// Rows of broken inputs to the program, and how they are tried: each is an
// error that says what is wrong and where; none is a crash, and none leaves a
// process behind.
#pragma once

#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe::testing {

/// Changes a folder that holds the golden model.
using damage = std::function<void(const test::scratch_folder&)>;

struct broken_row {
  const char* what;
  /// Words of the command. {dir}: a folder of its own that holds the golden
  /// model until `how` has changed it.
  std::string command;
  int code; ///< 1: failed, 2: wrong usage.
  std::vector<std::string> says;
  damage how = {};
};

damage writes(std::string name, std::string bytes);
damage removes(std::string name);
damage replaces(std::string name, std::string from, std::string to);

/// Keeps the first `bytes` of a file.
damage cuts(std::string name, size_t bytes);

/// Runs the program once for each row.
void check_broken(const std::vector<broken_row>& table);

} // namespace troupe::testing
