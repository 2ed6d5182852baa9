// Reading and looking up the files of a repository.
#include "tests/tidy/source_tree.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace troupe::tidy {

namespace {

constexpr std::uintmax_t text_bytes_max = 1 << 20;

bool is_skipped_folder(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("build") || (name.starts_with('.') && name != ".ci");
}

bool is_text(const std::filesystem::directory_entry& entry) {
  static constexpr std::array extensions{".cpp", ".hpp",   ".md",  ".toml",
                                         ".txt", ".cmake", ".json"};
  const auto name = entry.path().filename().string();
  const auto extension = entry.path().extension().string();
  const bool is_script = name == "dev" || name == "run";
  return entry.file_size() <= text_bytes_max &&
         (is_script || std::find(extensions.begin(), extensions.end(),
                                 extension) != extensions.end());
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
}

bool in_folder(const source_file& file, std::string_view folder) {
  return file.path.starts_with(folder);
}

} // namespace

source_tree::source_tree(std::vector<source_file> files)
  : files_{std::move(files)} {
  std::sort(files_.begin(), files_.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  for (const auto& file : files_) {
    for (auto slash = file.path.find('/'); slash != file.path.npos;
         slash = file.path.find('/', slash + 1))
      names_.push_back(file.path.substr(0, slash));
    names_.push_back(file.path);
  }
  std::sort(names_.begin(), names_.end());
}

source_tree source_tree::read(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  std::vector<source_file> files;
  std::vector<std::string> names;
  for (auto i = fs::recursive_directory_iterator{root};
       i != fs::recursive_directory_iterator{}; ++i) {
    if (i->is_directory() && is_skipped_folder(i->path())) {
      i.disable_recursion_pending();
      continue;
    }
    auto path = i->path().lexically_relative(root).generic_string();
    if (i->is_regular_file() && is_text(*i))
      files.push_back({path, read_text(i->path())});
    names.push_back(std::move(path));
  }
  source_tree tree{std::move(files)};
  tree.names_ = std::move(names);
  std::sort(tree.names_.begin(), tree.names_.end());
  return tree;
}

const source_file* source_tree::find(std::string_view path) const {
  const auto i = std::lower_bound(
    files_.begin(), files_.end(), path,
    [](const source_file& file, std::string_view x) { return file.path < x; });
  return i != files_.end() && i->path == path ? &*i : nullptr;
}

bool source_tree::exists(std::string_view path) const {
  while (path.ends_with('/'))
    path.remove_suffix(1);
  return std::binary_search(names_.begin(), names_.end(), path);
}

bool is_cpp(const source_file& file) {
  return file.path.ends_with(".cpp") || file.path.ends_with(".hpp");
}

bool is_product(const source_file& file) {
  return in_folder(file, "actors/") || in_folder(file, "config/") ||
         in_folder(file, "kernels/") || in_folder(file, "runtime/");
}

std::size_t line_of(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, offset);
  return 1 + static_cast<std::size_t>(
               std::count(before.begin(), before.end(), '\n'));
}

} // namespace troupe::tidy
