// See parser.hpp: what follows an operand: .name [index] (arguments) |filter
// `is` test.
#include "runtime/template/parser.hpp"

#include <algorithm>

namespace troupe::jinja {

namespace {

using kind = expression_kind;

std::unique_ptr<expression> over(expression_kind what, place at,
                                 expression_ptr first) {
  auto x = std::make_unique<expression>();
  x->kind = what;
  x->at = at;
  x->operands.push_back(std::move(first));
  return x;
}

} // namespace

expression_ptr expression_parser::parse_postfix(expression_ptr x) {
  while (x) {
    if (in_.is_symbol("."))
      x = parse_attribute(std::move(x));
    else if (in_.is_symbol("["))
      x = parse_subscript(std::move(x));
    else if (in_.is_symbol("("))
      x = parse_call(std::move(x));
    else
      break;
  }
  return x;
}

expression_ptr expression_parser::parse_filters_and_tests(expression_ptr x) {
  while (x) {
    if (in_.is_symbol("|"))
      x = parse_filters(std::move(x));
    else if (in_.is_name("is"))
      x = parse_test(std::move(x));
    else if (in_.is_symbol("("))
      x = parse_call(std::move(x));
    else
      break;
  }
  return x;
}

expression_ptr expression_parser::parse_attribute(expression_ptr x) {
  auto at = in_.take().at;
  if (in_.current().kind == token_kind::integer) {
    auto index = in_.take();
    auto out = over(kind::subscript, at, std::move(x));
    out->operands.push_back(literal(index.at, value{index.integer}));
    return finish(std::move(out));
  }
  auto out = over(kind::attribute, at, std::move(x));
  out->name = in_.expect_any_name();
  return finish(std::move(out));
}

expression_ptr expression_parser::parse_subscript(expression_ptr x) {
  auto at = in_.take().at;
  auto out = over(kind::subscript, at, std::move(x));
  out->operands.push_back(in_.is_symbol(":") ? nullptr : parse());
  if (in_.is_symbol(":")) {
    out->kind = kind::slice;
    for (int bound = 0; bound < 2; ++bound) {
      auto is_given =
        in_.skip_symbol(":") && !in_.is_symbol(":") && !in_.is_symbol("]");
      out->operands.push_back(is_given ? parse() : nullptr);
    }
  }
  in_.expect_symbol("]");
  return finish(std::move(out));
}

void expression_parser::parse_arguments(expression& into) {
  in_.expect_symbol("(");
  while (!in_.failed() && !in_.is_symbol(")")) {
    if (in_.is_symbol("*") || in_.is_symbol("**")) {
      auto& rest = in_.take().text == "*" ? into.rest : into.named_rest;
      if (rest || into.named_rest)
        return in_.refuse("\")\"");
      rest = parse();
      if (!in_.skip_symbol(","))
        break;
      continue;
    }
    auto& word = in_.current();
    auto is_named = word.kind == token_kind::name &&
                    in_.ahead().kind == token_kind::symbol &&
                    in_.ahead().text == "=";
    if (is_named) {
      into.keywords.push_back(in_.take().text);
      in_.take();
    } else if (!into.keywords.empty() || into.rest || into.named_rest) {
      return in_.refuse("an argument with a name");
    }
    into.operands.push_back(parse());
    if (!in_.skip_symbol(","))
      break;
  }
  in_.expect_symbol(")");
}

expression_ptr expression_parser::parse_call(expression_ptr x) {
  auto out = over(kind::call, in_.current().at, std::move(x));
  parse_arguments(*out);
  return finish(std::move(out));
}

expression_ptr expression_parser::parse_filters(expression_ptr input) {
  while (input && in_.skip_symbol("|"))
    input = parse_filter(std::move(input));
  return input;
}

expression_ptr expression_parser::parse_filter(expression_ptr input) {
  auto out = over(kind::filter, in_.current().at, std::move(input));
  out->name = in_.expect_any_name();
  out->code = find_filter(out->name);
  if (in_.is_symbol("("))
    parse_arguments(*out);
  return finish(std::move(out));
}

expression_ptr expression_parser::parse_test(expression_ptr x) {
  auto at = in_.take().at;
  auto is_negated = in_.skip_name("not");
  auto out = over(kind::test, in_.current().at, std::move(x));
  out->name = in_.expect_any_name();
  out->code = find_test(out->name);
  auto& next = in_.current();
  auto is_operand = next.kind == token_kind::string ||
                    next.kind == token_kind::integer ||
                    next.kind == token_kind::floating || in_.is_symbol("[") ||
                    in_.is_symbol("{") ||
                    (next.kind == token_kind::name && next.text != "else" &&
                     next.text != "or" && next.text != "and");
  if (in_.is_symbol("(")) {
    parse_arguments(*out);
  } else if (is_operand && next.kind == token_kind::name && next.text == "is") {
    in_.refuse("no second test in a row (use \"and\")");
  } else if (is_operand) {
    auto operand = parse_primary();
    out->operands.push_back(operand ? parse_postfix(std::move(operand))
                                    : nullptr);
  }
  auto test = finish(std::move(out));
  if (!is_negated || !test)
    return test;
  return finish(over(kind::logical_not, at, std::move(test)));
}

} // namespace troupe::jinja
