// Rules about paths: those that documents name, and those of the tests.
#include "tests/tidy/cpp_text.hpp"
#include "tests/tidy/rules.hpp"

#include <algorithm>
#include <array>
#include <regex>
#include <tuple>

namespace troupe::tidy {

namespace {

bool is_document(const source_file& file) {
  return file.path.ends_with(".md") &&
         (file.path == "README.md" || file.path == "bench/README.md" ||
          file.path.starts_with("docs/"));
}

bool has_source_suffix(std::string_view path) {
  static constexpr std::array<std::string_view, 7> suffixes{
    ".cpp", ".hpp", ".md", ".toml", ".cmake", ".json", ".txt"};
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](auto x) { return path.ends_with(x); });
}

/// Returns whether `word`, found between backticks, is meant as a path of the
/// repository: "kernels/matmul", "docs/", "tests/tidy/rules.hpp".
bool is_path(const source_tree& tree, const std::string& word) {
  static const std::regex pattern{R"([A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/?)"};
  const auto slash = word.find('/');
  if (slash == word.npos || !std::regex_match(word, pattern))
    return false;
  const auto first = word.substr(0, slash);
  if (first.starts_with("build")) // made by ./dev
    return false;
  return tree.exists(first) || has_source_suffix(word);
}

/// A pair may be named without its suffix.
bool exists_as_named(const source_tree& tree, const std::string& path) {
  return tree.exists(path) || tree.exists(path + ".hpp") ||
         tree.exists(path + ".cpp");
}

/// Resolves a link of `document`; empty if it leaves the repository.
std::string link_target(const source_file& document, const std::string& link) {
  const auto path = link.substr(0, link.find('#'));
  if (path.empty() || path.find("://") != path.npos ||
      path.starts_with("mailto:"))
    return {};
  const auto slash = document.path.rfind('/');
  const auto folder =
    slash == document.path.npos ? "" : document.path.substr(0, slash + 1);
  return std::filesystem::path{folder + path}.lexically_normal().string();
}

void check_line(const source_tree& tree, const source_file& document,
                std::size_t number, const std::string& line, findings& bad) {
  static const std::regex quoted{"`(?:\\./)?([^`]+)`"};
  static const std::regex linked{R"(\]\(([^)\s]+)\))"};
  const std::sregex_iterator end;
  for (std::sregex_iterator i{line.begin(), line.end(), quoted}; i != end; ++i)
    if (is_path(tree, (*i)[1]) && !exists_as_named(tree, (*i)[1]))
      bad.push_back(
        {document.path, number, "names " + (*i)[1].str() + ": no such path"});
  for (std::sregex_iterator i{line.begin(), line.end(), linked}; i != end;
       ++i) {
    const auto target = link_target(document, (*i)[1]);
    if (!target.empty() && !tree.exists(target))
      bad.push_back(
        {document.path, number, "links to " + target + ": no such path"});
  }
}

/// Returns whether a source below `folder` has the name `name`, or one that
/// `name` goes on from ("matmul" for "matmul_tiles").
bool has_source(const source_tree& tree, std::string_view folder,
                std::string_view name) {
  return std::any_of(
    tree.files().begin(), tree.files().end(), [&](const auto& file) {
      if (!is_cpp(file) || !file.path.starts_with(folder))
        return false;
      std::string_view stem = file.path;
      stem.remove_prefix(stem.rfind('/') + 1);
      stem.remove_suffix(4);
      if (stem.ends_with("-inl"))
        stem.remove_suffix(4);
      return name == stem ||
             (name.starts_with(stem) && name[stem.size()] == '_');
    });
}

/// Returns whether a file includes a header of `folder`.
bool includes_from(const source_file& file, std::string_view folder) {
  const auto includes = find_includes(file.text);
  return std::any_of(includes.begin(), includes.end(),
                     [&](const auto& x) { return x.path.starts_with(folder); });
}

} // namespace

findings document_paths(const source_tree& tree) {
  findings bad;
  for (const auto& file : tree.files()) {
    if (!is_document(file))
      continue;
    bool is_listing = false; // between ``` lines
    for_each_line(file.text, [&](std::size_t number, std::string_view line) {
      if (line.starts_with("```"))
        is_listing = !is_listing;
      else if (!is_listing)
        check_line(tree, file, number, std::string{line}, bad);
    });
  }
  return bad;
}

findings test_mirror(const source_tree& tree) {
  constexpr std::string_view root = "tests/unit/";
  constexpr std::string_view suffix = "_test.cpp";
  findings bad;
  for (const auto& file : tree.files()) {
    std::string_view path = file.path;
    if (!path.starts_with(root) || !path.ends_with(suffix))
      continue;
    path.remove_prefix(root.size());
    path.remove_suffix(suffix.size());
    const auto slash = std::min(path.rfind('/'), path.size() - 1);
    const auto folder = path.substr(0, slash + 1);
    if (!has_source(tree, folder, path.substr(slash + 1)) &&
        !includes_from(file, folder))
      bad.push_back(
        {file.path, 0, "tests no source file of " + std::string{folder}});
  }
  return bad;
}

findings check_all(const source_tree& tree) {
  findings bad;
  for (const auto rule :
       {size_ratchet, include_rules, family_names, document_paths,
        file_openings, banned_words, test_mirror}) {
    const auto found = rule(tree);
    bad.insert(bad.end(), found.begin(), found.end());
  }
  std::stable_sort(bad.begin(), bad.end(), [](const auto& a, const auto& b) {
    return std::tie(a.path, a.line) < std::tie(b.path, b.line);
  });
  return bad;
}

} // namespace troupe::tidy
