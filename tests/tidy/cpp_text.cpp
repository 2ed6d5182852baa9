// Comments, strings, braces and includes of C++ text.
#include "tests/tidy/cpp_text.hpp"

#include "tests/tidy/source_tree.hpp"

#include <algorithm>
#include <cctype>
#include <regex>

namespace troupe::tidy {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c));
}

/// Blanks comments, strings and preprocessor lines in one pass over the text.
class blanker {
public:
  blanker(std::string_view text, keep what) : in_{text}, out_{text} {
    strings_ = what == keep::code;
  }

  std::string run() {
    while (at_ < in_.size())
      step();
    return std::move(out_);
  }

private:
  void step() {
    if (starts("//"))
      erase(find_or_end("\n"));
    else if (starts("/*"))
      erase(after(find_or_end("*/"), 2));
    else if (starts("R\"") && (at_ == 0 || !is_word(in_[at_ - 1])))
      raw_string();
    else if (in_[at_] == '"')
      quoted('"');
    else if (in_[at_] == '\'' && (at_ == 0 || !is_word(in_[at_ - 1])))
      quoted('\''); // else a digit separator
    else if (in_[at_] == '#' && strings_ && opens_line())
      erase(end_of_directive());
    else
      ++at_;
  }

  bool starts(std::string_view x) const {
    return in_.substr(at_).starts_with(x);
  }

  std::size_t find_or_end(std::string_view x) const {
    return std::min(in_.find(x, at_), in_.size());
  }

  std::size_t after(std::size_t offset, std::size_t count) const {
    return std::min(offset + count, in_.size());
  }

  bool opens_line() const {
    const auto newline = in_.substr(0, at_).rfind('\n');
    const auto begin = newline == in_.npos ? 0 : newline + 1;
    const auto head = in_.substr(begin, at_ - begin);
    return std::all_of(head.begin(), head.end(), is_space);
  }

  std::size_t end_of_directive() const {
    auto end = find_or_end("\n");
    while (end < in_.size() && in_[end - 1] == '\\')
      end = std::min(in_.find('\n', end + 1), in_.size());
    return end;
  }

  void raw_string() {
    const auto open = find_or_end("(");
    const auto end =
      ")" + std::string{in_.substr(at_ + 2, open - at_ - 2)} + "\"";
    const auto close = std::min(in_.find(end, open), in_.size());
    at_ = std::min(open + 1, in_.size());
    skip_or_erase(close);
    at_ = after(close, end.size());
  }

  void quoted(char quote) {
    auto end = ++at_;
    while (end < in_.size() && in_[end] != quote && in_[end] != '\n')
      end += in_[end] == '\\' ? 2u : 1u;
    end = std::min(end, in_.size());
    skip_or_erase(end);
    at_ = after(end, 1);
  }

  void skip_or_erase(std::size_t end) {
    if (strings_)
      erase(end);
    else
      at_ = end;
  }

  void erase(std::size_t end) {
    for (; at_ < end; ++at_)
      if (in_[at_] != '\n')
        out_[at_] = ' ';
  }

  std::string_view in_;
  std::string out_;
  std::size_t at_ = 0;
  bool strings_ = false; // blank strings and directives too
};

enum class scope { names, type, function, value };

/// Returns what the brace after `head` opens, in a namespace or type.
scope classify(std::string head) {
  static const std::regex noise{
    R"(template\s*<[^{;]*?>(?=\s*(template|requires|class|struct|\w))|\[\[.*?\]\]|alignas\s*\([^)]*\))"};
  head = std::regex_replace(head, noise, " ");
  static const std::regex names{R"(\b(namespace|extern\s*"\s*")\b|extern\s*")"};
  static const std::regex type{R"(\b(class|struct|union|enum)\b)"};
  if (std::regex_search(head, names))
    return scope::names;
  if (head.find('(') != head.npos)
    return scope::function;
  return std::regex_search(head, type) ? scope::type : scope::value;
}

/// Returns whether the brace after `head` initialises a member in the list of a
/// constructor: `x::x(int a) : a_{a} {`.
bool is_member_initializer(const std::string& head) {
  static const std::regex list{R"(\)\s*(noexcept\s*)?:(?!:)[\s\S]*[\w>]\s*$)"};
  return std::regex_search(head, list);
}

std::string name_of(const std::string& head) {
  static const std::regex test_case{R"(BOOST_\w*TEST_CASE\w*\s*\(\s*([\w]+))"};
  static const std::regex function{
    R"(((\w+\s*::\s*)*~?(operator\s*\S*|\w+))\s*\()"};
  std::smatch match;
  if (std::regex_search(head, match, test_case) ||
      std::regex_search(head, match, function))
    return match[1];
  return "?";
}

/// Follows the braces of blanked code and collects the functions.
class function_finder {
public:
  explicit function_finder(std::string_view code) : code_{code} {
  }

  std::vector<function_extent> run() {
    for (; at_ < code_.size(); ++at_)
      step(code_[at_]);
    return std::move(found_);
  }

private:
  void step(char c) {
    if (c == '(')
      ++parentheses_;
    else if (c == ')')
      --parentheses_;
    if (c == '{' && (parentheses_ > 0 || is_member_initializer(head_))) {
      skip_group();
      head_ += "()";
    } else if (c == '{')
      open();
    else if (c == '}')
      restart();
    else if (c == ';' && parentheses_ == 0)
      restart();
    else
      extend(c);
  }

  void extend(char c) {
    if (head_.empty() && is_space(c))
      return;
    if (head_.empty())
      head_begin_ = at_;
    head_ += c;
    if (head_ == "public:" || head_ == "protected:" || head_ == "private:")
      restart();
  }

  // Names and types are entered; functions and values are stepped over.
  void open() {
    const scope kind = classify(head_);
    if (kind == scope::names || kind == scope::type)
      return restart();
    const auto head = std::move(head_);
    const auto begin = head_begin_;
    skip_group();
    if (kind == scope::function)
      found_.push_back(
        {name_of(head), line_of(code_, begin), line_of(code_, at_)});
    restart();
  }

  void restart() {
    head_.clear();
    parentheses_ = 0;
  }

  // Moves to the brace that closes the one at the current place.
  void skip_group() {
    int depth = 0;
    for (; at_ < code_.size(); ++at_) {
      if (code_[at_] == '{')
        ++depth;
      if (code_[at_] == '}' && --depth == 0)
        return;
    }
  }

  std::string_view code_;
  std::size_t at_ = 0;
  std::size_t head_begin_ = 0;
  std::string head_; // text since the last declaration
  int parentheses_ = 0;
  std::vector<function_extent> found_;
};

} // namespace

std::string blank(std::string_view text, keep what) {
  return blanker{text, what}.run();
}

std::vector<function_extent> find_functions(std::string_view text) {
  const std::string code = blank(text, keep::code);
  return function_finder{code}.run();
}

std::vector<include_line> find_includes(std::string_view text) {
  static const std::regex pattern{R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])"};
  std::vector<include_line> result;
  const std::string code = blank(text, keep::code_and_strings);
  for_each_line(code, [&](std::size_t number, std::string_view line) {
    std::match_results<std::string_view::const_iterator> match;
    if (std::regex_search(line.begin(), line.end(), match, pattern))
      result.push_back({match[2].str(), number, match[1].str() == "\""});
  });
  return result;
}

} // namespace troupe::tidy
