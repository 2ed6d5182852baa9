// See parser.hpp. One function for each level of precedence, loosest first.
#include "runtime/template/parser.hpp"

#include <algorithm>
#include <array>

namespace troupe::jinja {

namespace {

using kind = expression_kind;

struct spelled_operation {
  std::string_view symbol;
  operation means;
};

constexpr std::array comparisons{
  spelled_operation{"==", operation::equal},
  spelled_operation{"!=", operation::not_equal},
  spelled_operation{"<=", operation::less_equal},
  spelled_operation{"<", operation::less},
  spelled_operation{">=", operation::greater_equal},
  spelled_operation{">", operation::greater},
};
constexpr std::array sums{spelled_operation{"+", operation::add},
                          spelled_operation{"-", operation::subtract}};
constexpr std::array products{
  spelled_operation{"*", operation::multiply},
  spelled_operation{"/", operation::divide},
  spelled_operation{"//", operation::floor_divide},
  spelled_operation{"%", operation::modulo},
};

/// Takes the operator if it is one of `table`.
template <class Table>
std::optional<operation> take_operation(token_reader& in, const Table& table) {
  for (auto& x : table)
    if (in.skip_symbol(x.symbol))
      return x.means;
  return std::nullopt;
}

std::vector<expression_ptr> two(expression_ptr a, expression_ptr b) {
  std::vector<expression_ptr> out;
  out.push_back(std::move(a));
  out.push_back(std::move(b));
  return out;
}

std::vector<expression_ptr> one(expression_ptr a) {
  std::vector<expression_ptr> out;
  out.push_back(std::move(a));
  return out;
}

} // namespace

expression_ptr expression_parser::finish(std::unique_ptr<expression> x) {
  auto contain = [&](const expression_ptr& operand) {
    x->depth = std::max(x->depth, operand ? operand->depth + 1 : 1);
  };
  std::for_each(x->operands.begin(), x->operands.end(), contain);
  contain(x->rest);
  contain(x->named_rest);
  if (x->depth > in_.depth_max())
    in_.refuse_at(x->at, ec::out_of_memory,
                  fmt::format("nested deeper than {}", in_.depth_max()));
  if (in_.failed())
    return nullptr;
  return x;
}

expression_ptr expression_parser::make(expression_kind kind, place at,
                                       std::vector<expression_ptr> operands) {
  auto x = std::make_unique<expression>();
  x->kind = kind;
  x->at = at;
  x->operands = std::move(operands);
  return finish(std::move(x));
}

expression_ptr expression_parser::parse() {
  token_reader::nesting deeper{in_};
  auto at = in_.current().at;
  auto x = parse_or();
  while (x && in_.skip_name("if")) {
    std::vector<expression_ptr> operands;
    operands.push_back(parse_or());
    operands.push_back(std::move(x));
    operands.push_back(in_.skip_name("else") ? parse() : nullptr);
    x = make(kind::conditional, at, std::move(operands));
  }
  return x;
}

expression_ptr expression_parser::parse_or() {
  auto at = in_.current().at;
  auto x = parse_and();
  while (x && in_.skip_name("or"))
    x = make(kind::logical_or, at, two(std::move(x), parse_and()));
  return x;
}

expression_ptr expression_parser::parse_and() {
  auto at = in_.current().at;
  auto x = parse_not();
  while (x && in_.skip_name("and"))
    x = make(kind::logical_and, at, two(std::move(x), parse_not()));
  return x;
}

expression_ptr expression_parser::parse_not() {
  token_reader::nesting deeper{in_};
  auto at = in_.current().at;
  if (in_.skip_name("not"))
    return make(kind::logical_not, at, one(parse_not()));
  return parse_comparison();
}

expression_ptr expression_parser::parse_comparison() {
  auto x = std::make_unique<expression>();
  x->kind = kind::comparison;
  x->at = in_.current().at;
  x->operands.push_back(parse_sum());
  while (!in_.failed()) {
    if (auto found = take_operation(in_, comparisons)) {
      x->operations.push_back(*found);
    } else if (in_.skip_name("in")) {
      x->operations.push_back(operation::contained);
    } else if (in_.is_name("not") && in_.ahead().kind == token_kind::name &&
               in_.ahead().text == "in") {
      in_.take();
      in_.take();
      x->operations.push_back(operation::not_contained);
    } else {
      break;
    }
    x->operands.push_back(parse_sum());
  }
  if (x->operations.empty())
    return std::move(x->operands.front());
  return finish(std::move(x));
}

namespace {

/// `left` `means` `right`, of which one may have failed.
std::unique_ptr<expression> arithmetic(place at, operation means,
                                       expression_ptr left,
                                       expression_ptr right) {
  auto x = std::make_unique<expression>();
  x->kind = kind::arithmetic;
  x->at = at;
  x->operations.push_back(means);
  x->operands = two(std::move(left), std::move(right));
  return x;
}

} // namespace

expression_ptr expression_parser::parse_sum() {
  auto x = parse_concat();
  while (x) {
    auto at = in_.current().at;
    auto means = take_operation(in_, sums);
    if (!means)
      break;
    x = finish(arithmetic(at, *means, std::move(x), parse_concat()));
  }
  return x;
}

expression_ptr expression_parser::parse_concat() {
  auto at = in_.current().at;
  auto x = parse_product();
  if (!x || !in_.is_symbol("~"))
    return x;
  auto operands = one(std::move(x));
  while (in_.skip_symbol("~"))
    operands.push_back(parse_product());
  return make(kind::concat, at, std::move(operands));
}

expression_ptr expression_parser::parse_product() {
  auto x = parse_power();
  while (x) {
    auto at = in_.current().at;
    auto means = take_operation(in_, products);
    if (!means)
      break;
    x = finish(arithmetic(at, *means, std::move(x), parse_power()));
  }
  return x;
}

expression_ptr expression_parser::parse_power() {
  auto x = parse_unary();
  while (x && in_.is_symbol("**")) {
    auto at = in_.take().at;
    x = finish(arithmetic(at, operation::power, std::move(x), parse_unary()));
  }
  return x;
}

expression_ptr expression_parser::parse_unary() {
  auto x = parse_signed();
  return x ? parse_filters_and_tests(std::move(x)) : nullptr;
}

expression_ptr expression_parser::parse_signed() {
  token_reader::nesting deeper{in_};
  if (in_.failed())
    return nullptr;
  auto at = in_.current().at;
  if (in_.skip_symbol("-"))
    return make(kind::negative, at, one(parse_signed()));
  if (in_.skip_symbol("+"))
    return make(kind::positive, at, one(parse_signed()));
  auto x = parse_primary();
  return x ? parse_postfix(std::move(x)) : nullptr;
}

expression_ptr expression_parser::literal(place at, value x) {
  auto out = std::make_unique<expression>();
  out->at = at;
  out->constant = std::move(x);
  return finish(std::move(out));
}

expression_ptr expression_parser::parse_primary() {
  if (in_.failed())
    return nullptr;
  auto& x = in_.current();
  auto at = x.at;
  if (x.kind == token_kind::name)
    return parse_name();
  if (x.kind == token_kind::string)
    return parse_string();
  if (x.kind == token_kind::integer)
    return literal(at, value{in_.take().integer});
  if (x.kind == token_kind::floating)
    return literal(at, value{in_.take().floating});
  if (in_.is_symbol("("))
    return parse_bracketed();
  if (in_.is_symbol("["))
    return parse_list();
  if (in_.is_symbol("{"))
    return parse_dict();
  in_.refuse("an expression");
  return nullptr;
}

expression_ptr expression_parser::parse_name() {
  auto word = in_.take();
  if (word.text == "true" || word.text == "True")
    return literal(word.at, value{true});
  if (word.text == "false" || word.text == "False")
    return literal(word.at, value{false});
  if (word.text == "none" || word.text == "None")
    return literal(word.at, value{none{}});
  auto x = std::make_unique<expression>();
  x->kind = kind::name;
  x->at = word.at;
  x->name = word.text;
  return finish(std::move(x));
}

expression_ptr expression_parser::parse_string() {
  auto at = in_.current().at;
  std::string text;
  while (!in_.failed() && in_.current().kind == token_kind::string)
    text += in_.take().text;
  return literal(at, value::text(text));
}

expression_ptr expression_parser::parse_bracketed() {
  in_.take();
  auto x = parse_sequence(&expression_parser::parse, {}, true);
  in_.expect_symbol(")");
  return x;
}

expression_ptr expression_parser::parse_list() {
  auto at = in_.take().at;
  std::vector<expression_ptr> items;
  while (!in_.failed() && !in_.is_symbol("]")) {
    items.push_back(parse());
    if (!in_.skip_symbol(","))
      break;
  }
  in_.expect_symbol("]");
  return make(kind::list, at, std::move(items));
}

expression_ptr expression_parser::parse_dict() {
  auto at = in_.take().at;
  std::vector<expression_ptr> items;
  while (!in_.failed() && !in_.is_symbol("}")) {
    items.push_back(parse());
    in_.expect_symbol(":");
    items.push_back(parse());
    if (!in_.skip_symbol(","))
      break;
  }
  in_.expect_symbol("}");
  return make(kind::dict, at, std::move(items));
}

bool expression_parser::is_tuple_end(std::string_view end) const {
  auto found = in_.current().kind;
  return found == token_kind::output_end || found == token_kind::block_end ||
         in_.is_symbol(")") || (!end.empty() && in_.is_name(end));
}

expression_ptr expression_parser::parse_sequence(part parse_item,
                                                 std::string_view end,
                                                 bool may_be_empty) {
  auto at = in_.current().at;
  std::vector<expression_ptr> items;
  auto has_comma = false;
  while (!in_.failed() && !is_tuple_end(end)) {
    items.push_back((this->*parse_item)());
    if (!in_.skip_symbol(","))
      break;
    has_comma = true;
  }
  if (!has_comma && items.size() == 1)
    return std::move(items.front());
  if (items.empty() && !may_be_empty)
    in_.refuse("an expression");
  return make(kind::tuple, at, std::move(items));
}

expression_ptr expression_parser::parse_tuple(std::string_view end) {
  return parse_sequence(&expression_parser::parse, end, false);
}

expression_ptr expression_parser::parse_plain_tuple(std::string_view end) {
  return parse_sequence(&expression_parser::parse_or, end, false);
}

} // namespace troupe::jinja
