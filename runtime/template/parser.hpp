// Tokens to a syntax tree: Jinja's grammar, without what reads other files
// (include, import, extends), which is refused by name.
#pragma once

#include "runtime/template/budget.hpp"
#include "runtime/template/syntax.hpp"

#include <initializer_list>
#include <string_view>

namespace troupe::jinja {

/// Parses a whole template. Fails with bad_format or unsupported, naming line,
/// column and what was found.
result<block> parse_block(std::vector<token> tokens, const limits& most);

/// What both halves of the parser share: the tokens, and the first fault.
/// After a fault nothing is read any more, and functions return empty results.
class token_reader {
public:
  token_reader(std::vector<token> tokens, const limits& most)
    : tokens_(std::move(tokens)), most_(most) {
    // nop
  }

  const token& current() const {
    return tokens_[at_];
  }

  const token& ahead() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }

  token take();

  bool is_symbol(std::string_view x) const;
  bool is_name(std::string_view x) const;
  bool skip_symbol(std::string_view x);
  bool skip_name(std::string_view x);

  /// Fails unless the current token is that one.
  void expect_symbol(std::string_view x);
  void expect_name(std::string_view x);
  void expect(token_kind kind);
  std::string expect_any_name();

  bool failed() const {
    return fault_.has_value();
  }

  /// @pre failed()
  const error& fault() const {
    return *fault_;
  }

  /// "line 3, column 7: expected WHAT, found ...".
  void refuse(std::string_view expected);
  void refuse_at(place at, ec code, std::string_view message);

  /// Counts nesting while it lives; fails the reader when it is too deep.
  class nesting {
  public:
    explicit nesting(token_reader& reader);
    ~nesting();
    nesting(const nesting&) = delete;
    nesting& operator=(const nesting&) = delete;

  private:
    token_reader& reader_;
  };

  size_t depth_max() const {
    return most_.depth_max;
  }

private:
  std::vector<token> tokens_;
  limits most_;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::optional<error> fault_;
};

/// "a string", "\"endif\"", "the end of the template": for "found ...".
std::string describe(const token& x);

/// Expressions.
class expression_parser {
public:
  explicit expression_parser(token_reader& in) : in_(in) {
    // nop
  }

  /// With or without "x if y else z".
  expression_ptr parse();
  expression_ptr parse_or();

  /// Expressions with commas between them make a tuple. `end` is a name that
  /// ends one, besides the end of the tag.
  expression_ptr parse_tuple(std::string_view end = {});

  /// The same without "x if y".
  expression_ptr parse_plain_tuple(std::string_view end = {});

  expression_ptr parse_primary();

  /// A chain of filters over `input`; `first` is read without its "|".
  expression_ptr parse_filters(expression_ptr input);
  expression_ptr parse_filter(expression_ptr input);

  expression_ptr make(expression_kind kind, place at,
                      std::vector<expression_ptr> operands = {});

private:
  using part = expression_ptr (expression_parser::*)();

  expression_ptr parse_sequence(part parse_item, std::string_view end,
                                bool may_be_empty);
  expression_ptr parse_and();
  expression_ptr parse_not();
  expression_ptr parse_comparison();
  expression_ptr parse_sum();
  expression_ptr parse_concat();
  expression_ptr parse_product();
  expression_ptr parse_power();
  expression_ptr parse_unary();
  expression_ptr parse_signed();
  expression_ptr parse_postfix(expression_ptr x);
  expression_ptr parse_filters_and_tests(expression_ptr x);
  expression_ptr parse_name();
  expression_ptr parse_string();
  expression_ptr parse_bracketed();
  expression_ptr parse_list();
  expression_ptr parse_dict();
  expression_ptr parse_attribute(expression_ptr x);
  expression_ptr parse_subscript(expression_ptr x);
  expression_ptr parse_call(expression_ptr x);
  expression_ptr parse_test(expression_ptr x);
  void parse_arguments(expression& into);
  expression_ptr literal(place at, value x);
  expression_ptr finish(std::unique_ptr<expression> x);
  bool is_tuple_end(std::string_view end) const;

  token_reader& in_;
};

} // namespace troupe::jinja
