#include "runtime/template/lexer.hpp"

#include "runtime/template/characters.hpp"
#include "runtime/template/literal.hpp"

#include <algorithm>
#include <array>

namespace troupe::jinja {

namespace {

constexpr auto npos = std::string_view::npos;
constexpr size_t name_bytes_max = 256;

/// What a tag begins with, apart from its sign.
enum class tag_kind : uint8_t { output, block, comment };

/// Where the white space before `end` begins, not before `from`.
size_t blanks_begin(std::string_view text, size_t from, size_t end) {
  while (end > from) {
    auto at = end - 1;
    while (at > from && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80)
      --at;
    if (!is_space(character_at(text, at)))
      break;
    end = at;
  }
  return end;
}

bool is_digit(char x) {
  return x >= '0' && x <= '9';
}

/// Letters of other scripts may stand in names; what they are is not looked at.
bool is_name_begin(char x) {
  return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || x == '_' ||
         static_cast<unsigned char>(x) >= 0x80;
}

class scanner {
public:
  explicit scanner(std::string_view text) : text_(text) {
    // nop
  }

  result<std::vector<token>> run() {
    while (at_ < text_.size() && problem_.empty())
      scan_text();
    if (!problem_.empty())
      return fail(ec::bad_format, "line {}, column {}: {}", fault_.line,
                  fault_.column, problem_);
    begin_ = text_.size();
    add(token_kind::end, {});
    return std::move(tokens_);
  }

private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool starts_with(std::string_view x) const {
    return text_.substr(at_).starts_with(x);
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_space(character_at(text_, at_)))
      at_ += character_bytes(text_[at_]);
  }

  /// Moves the known place on to `offset`. Offsets only grow.
  place place_of(size_t offset) {
    for (; known_ < offset; ++known_) {
      if (text_[known_] == '\n') {
        ++here_.line;
        here_.column = 1;
      } else if ((static_cast<unsigned char>(text_[known_]) & 0xC0) != 0x80) {
        ++here_.column;
      }
    }
    return here_;
  }

  void add(token_kind kind, std::string_view text) {
    tokens_.push_back({kind, place_of(begin_), std::string{text}, 0, 0});
  }

  void refuse(std::string problem) {
    if (!problem_.empty())
      return;
    problem_ = std::move(problem);
    fault_ = place_of(begin_);
  }

  /// Text up to the next tag, and that tag.
  void scan_text() {
    auto from = at_;
    auto tag = from;
    for (;; ++tag) {
      tag = text_.find('{', tag);
      if (tag == npos || tag + 1 >= text_.size()) {
        begin_ = from;
        at_ = text_.size();
        return add_data(from, at_);
      }
      if (text_[tag + 1] == '{' || text_[tag + 1] == '%' ||
          text_[tag + 1] == '#')
        break;
    }
    auto kind = text_[tag + 1] == '{'   ? tag_kind::output
                : text_[tag + 1] == '%' ? tag_kind::block
                                        : tag_kind::comment;
    begin_ = from;
    at_ = tag + 2;
    auto sign = read_sign();
    add_data(from, trimmed_end(from, tag, sign, kind));
    begin_ = tag;
    if (kind == tag_kind::comment)
      return skip_comment();
    if (kind == tag_kind::block && scan_raw())
      return;
    scan_tag(kind);
  }

  char read_sign() {
    return peek() == '-' || peek() == '+' ? text_[at_++] : '\0';
  }

  void add_data(size_t from, size_t to) {
    if (from < to)
      add(token_kind::data, text_.substr(from, to - from));
  }

  /// Where the text [from, tag) ends once a tag with `sign` follows.
  size_t trimmed_end(size_t from, size_t tag, char sign, tag_kind kind) const {
    if (sign == '-')
      return blanks_begin(text_, from, tag);
    if (sign == '+' || kind == tag_kind::output)
      return tag;
    // Blanks go if nothing else stands between them and the line's begin.
    auto line = tag == 0 ? npos : text_.rfind('\n', tag - 1);
    auto begin = std::max(from, line == npos ? 0 : line + 1);
    auto is_line_begin = begin == 0 || text_[begin - 1] == '\n';
    return is_line_begin && blanks_begin(text_, begin, tag) == begin ? begin
                                                                     : tag;
  }

  /// Takes `close` with its sign and what it trims; false if it is not there.
  bool take_end(std::string_view close, tag_kind kind) {
    if (kind != tag_kind::output && peek() == '+' &&
        text_.substr(at_ + 1).starts_with(close)) {
      at_ += 1 + close.size();
      return true;
    }
    if (peek() == '-' && text_.substr(at_ + 1).starts_with(close)) {
      at_ += 1 + close.size();
      skip_blanks();
      return true;
    }
    if (!starts_with(close))
      return false;
    at_ += close.size();
    if (kind != tag_kind::output && peek() == '\n')
      ++at_;
    return true;
  }

  void skip_comment() {
    auto end = text_.find("#}", at_);
    if (end == npos)
      return refuse("a comment \"{#\" without its \"#}\"");
    auto has_sign =
      end > at_ && (text_[end - 1] == '-' || text_[end - 1] == '+');
    at_ = has_sign ? end - 1 : end;
    take_end("#}", tag_kind::comment);
  }

  /// {% raw %} to {% endraw %}; false if it is another tag.
  bool scan_raw() {
    auto from = at_;
    skip_blanks();
    if (!starts_with("raw")) {
      at_ = from;
      return false;
    }
    at_ += 3;
    skip_blanks();
    // Unlike after other tags, the line end after {% raw %} stays.
    if (starts_with("-%}")) {
      at_ += 3;
      skip_blanks();
    } else if (starts_with("%}")) {
      at_ += 2;
    } else {
      at_ = from;
      return false;
    }
    take_raw();
    return true;
  }

  void take_raw() {
    auto from = at_;
    for (auto tag = text_.find("{%", from); tag != npos;
         tag = text_.find("{%", tag + 1)) {
      at_ = tag + 2;
      auto sign = read_sign();
      skip_blanks();
      if (!starts_with("endraw"))
        continue;
      at_ += 6;
      skip_blanks();
      if (!take_end("%}", tag_kind::block))
        continue;
      auto end = at_;
      add_data(from, trimmed_end(from, tag, sign, tag_kind::block));
      at_ = end;
      return;
    }
    refuse("{% raw %} without its {% endraw %}");
  }

  void scan_tag(tag_kind kind) {
    auto is_output = kind == tag_kind::output;
    std::string_view close = is_output ? "}}" : "%}";
    add(is_output ? token_kind::output_begin : token_kind::block_begin,
        is_output ? "{{" : "{%");
    auto opening = tokens_.back().at;
    brackets_.clear();
    while (problem_.empty()) {
      skip_blanks();
      begin_ = at_;
      if (at_ == text_.size()) {
        refuse(fmt::format("a tag without its \"{}\"", close));
        fault_ = opening;
        return;
      }
      if (brackets_.empty() && take_end(close, kind))
        return add(is_output ? token_kind::output_end : token_kind::block_end,
                   close);
      scan_token();
    }
  }

  void scan_token() {
    if (is_name_begin(peek()))
      return scan_name();
    if (is_digit(peek()))
      return scan_number();
    if (peek() == '"' || peek() == '\'')
      return scan_string();
    static constexpr std::array<std::string_view, 26> symbols{
      "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    auto found = std::find_if(symbols.begin(), symbols.end(),
                              [this](auto x) { return starts_with(x); });
    if (found == symbols.end())
      return refuse(
        fmt::format("{}: no such character in an expression",
                    text_.substr(at_, std::min(character_bytes(peek()),
                                               text_.size() - at_))));
    add(token_kind::symbol, *found);
    at_ += found->size();
    check_brackets((*found)[0]);
  }

  void check_brackets(char x) {
    if (x == '(' || x == '[' || x == '{')
      brackets_.push_back(x == '(' ? ')' : x == '[' ? ']' : '}');
    else if (x != ')' && x != ']' && x != '}')
      return;
    else if (brackets_.empty() || brackets_.back() != x)
      refuse(fmt::format("unexpected \"{}\"{}", x,
                         brackets_.empty() ? std::string{}
                                           : fmt::format(", expected \"{}\"",
                                                         brackets_.back())));
    else
      brackets_.pop_back();
  }

  void scan_name() {
    while (is_name_begin(peek()) || is_digit(peek()))
      ++at_;
    if (at_ - begin_ > name_bytes_max) // names are looked up again and again
      return refuse(
        fmt::format("a name of more than {} bytes", name_bytes_max));
    add(token_kind::name, text_.substr(begin_, at_ - begin_));
  }

  void scan_number() {
    auto is_after_dot = begin_ > 0 && text_[begin_ - 1] == '.';
    auto found = read_number(text_.substr(at_), is_after_dot);
    if (!found)
      return refuse(std::move(found.error().message));
    add(found->is_float ? token_kind::floating : token_kind::integer,
        text_.substr(at_, found->length));
    tokens_.back().integer = found->integer;
    tokens_.back().floating = found->floating;
    at_ += found->length;
  }

  void scan_string() {
    auto quote = text_[at_++];
    auto from = at_;
    while (at_ < text_.size() && text_[at_] != quote)
      at_ += text_[at_] == '\\' ? size_t{2} : size_t{1};
    if (at_ >= text_.size()) {
      at_ = text_.size();
      return refuse(fmt::format("a string without its closing {}", quote));
    }
    auto meant = unescape(text_.substr(from, at_ - from));
    if (!meant)
      return refuse(std::move(meant.error().message));
    ++at_;
    add(token_kind::string, *meant);
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t begin_ = 0; ///< Of the token that is being read.
  size_t known_ = 0; ///< Offset of `here_`.
  place here_;
  std::string brackets_; ///< The closing ones that are awaited.
  std::vector<token> tokens_;
  std::string problem_;
  place fault_;
};

} // namespace

result<std::vector<token>> scan(std::string_view text) {
  return scanner{text}.run();
}

std::string normalize_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out.push_back(text[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < text.size() && text[i + 1] == '\n')
      ++i;
  }
  if (out.ends_with('\n'))
    out.pop_back();
  return out;
}

} // namespace troupe::jinja
