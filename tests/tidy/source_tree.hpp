// The repository as values: what the tidy rules look at. Rules are functions of
// this type alone, so that each can be tested with a tree written as a literal.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::tidy {

/// One text file; `path` is relative to the root, with forward slashes.
struct source_file {
  std::string path;
  std::string text;
};

/// Something a rule objects to; `line` counts from 1, 0 means the whole file.
struct finding {
  std::string path;
  std::size_t line = 0;
  std::string message;
};

/// All text files of a repository, and the names of everything in it.
class source_tree {
public:
  source_tree() = default;

  /// Builds a tree from literals; the folders are those the paths name.
  explicit source_tree(std::vector<source_file> files);

  /// Reads the tree below `root`. Build folders, hidden folders (but .ci) and
  /// files larger than 1 MiB count as existing, and are not read.
  static source_tree read(const std::filesystem::path& root);

  const std::vector<source_file>& files() const {
    return files_;
  }

  /// Returns the file at `path`, or null.
  const source_file* find(std::string_view path) const;

  /// Returns whether `path` is a file or folder of the tree.
  bool exists(std::string_view path) const;

private:
  std::vector<source_file> files_; // sorted by path
  std::vector<std::string> names_; // sorted; files and folders
};

/// Returns whether the file is C++ (.cpp or .hpp).
bool is_cpp(const source_file& file);

/// Returns whether the file is part of the product, not of its tests or bench.
bool is_product(const source_file& file);

/// Returns the line (from 1) in which the character at `offset` stands.
std::size_t line_of(std::string_view text, std::size_t offset);

/// Calls `visit(line number, line)` for each line of `text`.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    visit(++number, text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

} // namespace troupe::tidy
