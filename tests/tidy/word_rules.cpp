// Rules about words in files: families, unfinished work, openings.
#include "tests/tidy/cpp_text.hpp"
#include "tests/tidy/rules.hpp"

#include <array>
#include <cctype>
#include <regex>
#include <set>

namespace troupe::tidy {

namespace {

/// A word that no text may have, in files below `folder` ("" means all).
struct banned {
  std::string_view word;
  std::string_view folder;
  std::string_view message;
};

// Written in halves, so that this file does not object to itself.
constexpr std::array words{
  banned{"TO"
         "DO",
         "", "finish it or leave it out"},
  banned{"FIX"
         "ME",
         "", "finish it or leave it out"},
  banned{"/ho"
         "me/",
         "", "a path of one machine"},
  banned{"/ro"
         "ot/",
         "", "a path of one machine"},
  banned{"/wo"
         "rk/",
         "", "a path of one machine"},
  banned{"/tmp/trou"
         "pe",
         "", "a path of one machine"},
  banned{"sleep_"
         "for",
         "tests/unit/", "unit tests do not wait"},
  banned{"sleep_"
         "until",
         "tests/unit/", "unit tests do not wait"},
  banned{"usl"
         "eep(",
         "tests/unit/", "unit tests do not wait"},
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Returns the place of `word` in `text`, not as a part of a longer word.
std::size_t find_word(std::string_view text, std::string_view word) {
  for (auto i = text.find(word); i != text.npos; i = text.find(word, i + 1)) {
    const auto end = i + word.size();
    const bool begins = i == 0 || !is_word(text[i - 1]);
    const bool ends =
      end == text.size() || !is_word(text[end]) || !is_word(word.back());
    if (begins && ends)
      return i;
  }
  return text.npos;
}

/// Collects what the family files call a family: our name, GGUF's,
/// config.json's.
std::set<std::string> family_words(const source_tree& tree) {
  static const std::regex lines{
    R"(^\s*(family|gguf|architectures)\s*=\s*(.*))"};
  static const std::regex quoted{R"re("([^"]+)")re"};
  std::set<std::string> result;
  for (const auto& file : tree.files()) {
    if (!file.path.starts_with("config/models/"))
      continue;
    for_each_line(file.text, [&](std::size_t, std::string_view view) {
      const std::string line{view};
      std::smatch value;
      if (!std::regex_search(line, value, lines))
        return;
      const std::string names = value[2];
      for (std::sregex_iterator i{names.begin(), names.end(), quoted}, end;
           i != end; ++i)
        result.insert((*i)[1]);
    });
  }
  return result;
}

/// Returns whether a file is the second half of a pair whose header speaks for
/// it, or a test, which its source speaks for.
bool is_explained_elsewhere(const source_file& file) {
  const auto stem = file.path.substr(0, file.path.size() - 4);
  const auto name = stem.substr(stem.rfind('/') + 1); // beside it, in tests
  return file.path.ends_with("_test.cpp") ||
         file.text.starts_with("#include \"" + stem + ".hpp\"") ||
         file.text.starts_with("#include \"" + name + ".hpp\"");
}

} // namespace

findings family_names(const source_tree& tree) {
  findings bad;
  const auto names = family_words(tree);
  for (const auto& file : tree.files()) {
    if (!is_cpp(file) || !is_product(file))
      continue;
    const auto code = blank(file.text, keep::code_and_strings);
    for (const auto& name : names)
      if (const auto place = find_word(code, name); place != code.npos)
        bad.push_back({file.path, line_of(code, place),
                       "names the family " + name +
                         ": branch on a property of config/models instead"});
  }
  return bad;
}

findings file_openings(const source_tree& tree) {
  static const std::regex guard{R"((^|\n)\s*#pragma once\n|HWY_TARGET_TOGGLE)"};
  findings bad;
  for (const auto& file : tree.files()) {
    if (!is_cpp(file))
      continue;
    if (!file.text.starts_with("//") && !is_explained_elsewhere(file))
      bad.push_back({file.path, 1, "open with a comment: what is it for?"});
    const auto code = blank(file.text, keep::code_and_strings);
    if (file.path.ends_with(".hpp") && !std::regex_search(code, guard))
      bad.push_back({file.path, 1, "no #pragma once"});
  }
  return bad;
}

findings banned_words(const source_tree& tree) {
  findings bad;
  for (const auto& file : tree.files()) {
    if (file.path.starts_with("models/")) // data that others made
      continue;
    for (const auto& x : words)
      if (file.path.starts_with(x.folder))
        if (const auto i = find_word(file.text, x.word); i != file.text.npos)
          bad.push_back({file.path, line_of(file.text, i),
                         std::string{x.word} + ": " + std::string{x.message}});
  }
  return bad;
}

} // namespace troupe::tidy
