// The size ratchet. Lines of the list of offenders:
//   file actors/x.cpp 523
//   function actors/x.cpp run 81
// An entry must say the present length exactly: growing and shrinking both fail
// until the entry is lowered or removed.
#include "tests/tidy/cpp_text.hpp"
#include "tests/tidy/rules.hpp"

#include <algorithm>
#include <map>
#include <sstream>

namespace troupe::tidy {

namespace {

constexpr std::size_t file_lines_max = 500;
constexpr std::size_t function_lines_max = 70;
constexpr auto list_path = "tests/tidy/known_offenders.txt";

using lengths = std::map<std::string, std::size_t>; // by "function PATH NAME"

lengths read_known(const source_tree& tree, findings& bad) {
  lengths known;
  const auto* list = tree.find(list_path);
  if (!list)
    return known;
  for_each_line(list->text, [&](std::size_t number, std::string_view line) {
    if (line.empty() || line.starts_with('#'))
      return;
    const auto space = line.rfind(' ');
    std::size_t length = 0;
    std::istringstream{std::string{line.substr(space + 1)}} >> length;
    if (space == line.npos || length == 0)
      bad.push_back({list_path, number, "expected: KIND PATH [NAME] LENGTH"});
    else
      known[std::string{line.substr(0, space)}] = length;
  });
  return known;
}

lengths measure(const source_tree& tree) {
  lengths found;
  for (const auto& file : tree.files()) {
    if (!is_cpp(file))
      continue;
    const auto lines = static_cast<std::size_t>(
      std::count(file.text.begin(), file.text.end(), '\n'));
    if (lines > file_lines_max)
      found["file " + file.path] = lines;
    for (const auto& function : find_functions(file.text)) {
      if (function.lines() <= function_lines_max)
        continue;
      auto& length = found["function " + file.path + " " + function.name];
      length = std::max(length, function.lines());
    }
  }
  return found;
}

} // namespace

findings size_ratchet(const source_tree& tree) {
  findings bad;
  const auto known = read_known(tree, bad);
  const auto found = measure(tree);
  for (const auto& [what, length] : found) {
    const auto entry = known.find(what);
    if (entry == known.end())
      bad.push_back({what, 0, std::to_string(length) + " lines: split it"});
    else if (length > entry->second)
      bad.push_back({what, 0,
                     "grew from " + std::to_string(entry->second) + " to " +
                       std::to_string(length) + " lines: split it"});
    else if (length < entry->second)
      bad.push_back(
        {list_path, 0,
         "lower the entry: " + what + " " + std::to_string(length)});
  }
  for (const auto& [what, length] : known)
    if (!found.contains(what))
      bad.push_back({list_path, 0, "remove the entry: " + what});
  return bad;
}

} // namespace troupe::tidy
