// The `tidy` test: checks the repository at argv[1] against the style rules.
#include "tests/tidy/rules.hpp"

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tidy FOLDER\n";
    return 2;
  }
  const auto tree = troupe::tidy::source_tree::read(argv[1]);
  const auto bad = troupe::tidy::check_all(tree);
  for (const auto& x : bad)
    std::cerr << x.path << ':' << x.line << ": " << x.message << '\n';
  std::cerr << "tidy: " << tree.files().size() << " files, " << bad.size()
            << " findings\n";
  return bad.empty() ? 0 : 1;
}
