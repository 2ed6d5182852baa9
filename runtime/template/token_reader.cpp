// See parser.hpp: the tokens and the first fault.
#include "runtime/template/parser.hpp"

namespace troupe::jinja {

std::string describe(const token& x) {
  switch (x.kind) {
  case token_kind::data:
    return "text";
  case token_kind::string:
    return x.text.size() <= 40 ? fmt::format("the string \"{}\"", x.text)
                               : "a string";
  case token_kind::end:
    return "the end of the template";
  default:
    return x.text.size() <= 60 ? fmt::format("\"{}\"", x.text) : "a long word";
  }
}

token token_reader::take() {
  auto out = tokens_[at_];
  if (at_ + 1 < tokens_.size() && !failed())
    ++at_;
  return out;
}

bool token_reader::is_symbol(std::string_view x) const {
  return !failed() && current().kind == token_kind::symbol &&
         current().text == x;
}

bool token_reader::is_name(std::string_view x) const {
  return !failed() && current().kind == token_kind::name && current().text == x;
}

bool token_reader::skip_symbol(std::string_view x) {
  auto is_there = is_symbol(x);
  if (is_there)
    take();
  return is_there;
}

bool token_reader::skip_name(std::string_view x) {
  auto is_there = is_name(x);
  if (is_there)
    take();
  return is_there;
}

void token_reader::expect_symbol(std::string_view x) {
  if (!skip_symbol(x))
    refuse(fmt::format("\"{}\"", x));
}

void token_reader::expect_name(std::string_view x) {
  if (!skip_name(x))
    refuse(fmt::format("\"{}\"", x));
}

void token_reader::expect(token_kind kind) {
  if (current().kind == kind)
    take();
  else
    refuse(kind == token_kind::block_end    ? "\"%}\""
           : kind == token_kind::output_end ? "\"}}\""
                                            : "another token");
}

std::string token_reader::expect_any_name() {
  if (!failed() && current().kind == token_kind::name)
    return take().text;
  refuse("a name");
  return {};
}

void token_reader::refuse(std::string_view expected) {
  refuse_at(
    current().at, ec::bad_format,
    fmt::format("expected {}, found {}", expected, describe(current())));
}

void token_reader::refuse_at(place at, ec code, std::string_view message) {
  if (!fault_)
    fault_ = error{
      code, fmt::format("line {}, column {}: {}", at.line, at.column, message)};
}

token_reader::nesting::nesting(token_reader& reader) : reader_(reader) {
  if (++reader_.depth_ > reader_.most_.depth_max)
    reader_.refuse_at(
      reader_.current().at, ec::out_of_memory,
      fmt::format("nested deeper than {}", reader_.most_.depth_max));
}

token_reader::nesting::~nesting() {
  --reader_.depth_;
}

} // namespace troupe::jinja
