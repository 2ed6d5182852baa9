// The rules of docs/style.md that a program can check. Each looks at a whole
// tree and returns what it objects to; tidy_test.cpp shows each one failing.
#pragma once

#include "tests/tidy/source_tree.hpp"

#include <string>
#include <vector>

namespace troupe::tidy {

using findings = std::vector<finding>;

/// Files of at most 500 lines and functions of at most 70. What is longer must
/// stand in tests/tidy/known_offenders.txt with its exact length, so that it
/// can only shrink.
findings size_ratchet(const source_tree& tree);

/// CAF only in actors/ and its tests, oneDNN only behind kernels/, precise
/// headers only, and no folder includes one that stands above it.
findings include_rules(const source_tree& tree);

/// No name of a family of config/models/*.toml in the product's code.
findings family_names(const source_tree& tree);

/// README.md, docs/ and bench/README.md name only paths that exist.
findings document_paths(const source_tree& tree);

/// Headers have `#pragma once`; C++ files open with a comment, unless they are
/// tests or include their own header first.
findings file_openings(const source_tree& tree);

/// No unfinished work, no path of one machine, no waiting in unit tests.
findings banned_words(const source_tree& tree);

/// tests/unit/X/NAME_test.cpp tests the folder X: NAME is, or begins with, the
/// name of a source file there, or the test includes a header of X.
findings test_mirror(const source_tree& tree);

/// All of the above, by path and line.
findings check_all(const source_tree& tree);

} // namespace troupe::tidy
