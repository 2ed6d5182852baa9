// See evaluator.hpp: expressions.
#include "runtime/template/evaluator.hpp"
#include "runtime/template/operators.hpp"

#include <algorithm>

namespace troupe::jinja {

namespace {

using kind = expression_kind;

result<value> at_place(place at, result<value> x) {
  if (x)
    return x;
  return fail(x.error().code, "line {}, column {}: {}", at.line, at.column,
              x.error().message);
}

tl::unexpected<error> why_undefined(const value& x) {
  auto& why = x.as<undefined>().why;
  return fail(ec::invalid_argument, "{}", why ? *why : "an undefined value");
}

} // namespace

result<value> evaluator::evaluate(const expression& x) {
  deeper level{*this};
  if (auto ok = step(x.at); !ok)
    return tl::unexpected(std::move(ok.error()));
  auto out = dispatch(x);
  if (out && run_.spent.failed())
    if (auto ok = step(x.at); !ok)
      return tl::unexpected(std::move(ok.error()));
  return out;
}

result<value> evaluator::dispatch(const expression& x) {
  switch (x.kind) {
  case kind::literal:
    return x.constant;
  case kind::name:
    return evaluate_name(x);
  case kind::list:
  case kind::tuple:
    return evaluate_items(x);
  case kind::dict:
    return evaluate_dict(x);
  case kind::negative:
  case kind::positive:
  case kind::arithmetic:
    return evaluate_arithmetic(x);
  case kind::logical_not:
  case kind::logical_and:
  case kind::logical_or:
    return evaluate_logic(x);
  case kind::concat:
    return evaluate_concat(x);
  case kind::comparison:
    return evaluate_comparison(x);
  case kind::conditional:
    return evaluate_conditional(x);
  case kind::attribute:
    return evaluate_attribute(x);
  case kind::subscript:
    return evaluate_subscript(x);
  case kind::slice:
    return evaluate_slice(x);
  case kind::call:
    return evaluate_call(x);
  case kind::filter:
  case kind::test:
    return evaluate_builtin(x);
  }
  return value{};
}

value evaluator::lookup(std::string_view name) {
  for (auto* x = scope_.get(); x; x = x->outer.get())
    if (auto found = x->names.find(name); found != x->names.end())
      return found->second;
  if (auto* found = variables_.find(name))
    return *found;
  if (auto code = find_function(name)) {
    auto out = std::make_shared<callable>();
    out->name = name;
    out->code = code;
    return value{callable_ptr{std::move(out)}};
  }
  return value::missing(fmt::format("\"{}\" is undefined", name));
}

result<value> evaluator::evaluate_name(const expression& x) {
  return lookup(x.name);
}

result<value> evaluator::evaluate_items(const expression& x) {
  std::vector<value> items;
  for (auto& operand : x.operands) {
    auto item = evaluate(*operand);
    if (!item)
      return item;
    items.push_back(std::move(*item));
  }
  return make_sequence(run_.spent, std::move(items),
                       x.kind == kind::tuple ? sequence_form::tuple
                                             : sequence_form::list);
}

result<value> evaluator::evaluate_dict(const expression& x) {
  dictionary out;
  for (size_t i = 0; i < x.operands.size(); i += 2) {
    auto key = evaluate(*x.operands[i]);
    if (!key)
      return key;
    auto item = evaluate(*x.operands[i + 1]);
    if (!item)
      return item;
    touch_key(run_.spent, *key);
    auto type = type_name(*key);
    if (!out.set(std::move(*key), std::move(*item)))
      return at_place(x.operands[i]->at,
                      fail(ec::invalid_argument, "{} cannot be a key", type));
  }
  return make_dictionary(run_.spent, std::move(out));
}

result<value> evaluator::evaluate_logic(const expression& x) {
  auto left = evaluate(*x.operands[0]);
  if (!left)
    return left;
  if (x.kind == kind::logical_not)
    return value{!truth(*left)};
  return truth(*left) == (x.kind == kind::logical_and)
           ? evaluate(*x.operands[1])
           : left;
}

result<value> evaluator::evaluate_arithmetic(const expression& x) {
  auto left = evaluate(*x.operands[0]);
  if (!left)
    return left;
  if (x.kind == kind::negative)
    return at_place(x.at, negate(*left));
  if (x.kind == kind::positive && left->is<bool>())
    return value{*integer_of(*left)};
  if (x.kind == kind::positive)
    return number_of(*left) ? left
                            : at_place(x.at, fail(ec::invalid_argument,
                                                  "\"+\" does not work on {}",
                                                  type_name(*left)));
  auto right = evaluate(*x.operands[1]);
  if (!right)
    return right;
  return at_place(x.at, compute(x.operations[0], *left, *right, run_.spent));
}

result<value> evaluator::evaluate_concat(const expression& x) {
  text_builder out{run_.spent};
  for (auto& operand : x.operands) {
    auto part = evaluate(*operand);
    if (!part)
      return part;
    if (auto ok = append_text(out, *part); !ok)
      return at_place(operand->at, tl::unexpected(std::move(ok.error())));
  }
  return out.to_value();
}

result<value> evaluator::evaluate_comparison(const expression& x) {
  auto left = evaluate(*x.operands[0]);
  for (size_t i = 0; left && i < x.operations.size(); ++i) {
    auto right = evaluate(*x.operands[i + 1]);
    if (!right)
      return right;
    auto is_so = holds(x.operations[i], *left, *right, run_.spent);
    if (!is_so)
      return at_place(x.at, tl::unexpected(std::move(is_so.error())));
    if (!*is_so)
      return value{false};
    left = std::move(right);
  }
  return left ? result<value>{value{true}} : left;
}

result<value> evaluator::evaluate_conditional(const expression& x) {
  auto condition = evaluate(*x.operands[0]);
  if (!condition)
    return condition;
  if (truth(*condition))
    return evaluate(*x.operands[1]);
  if (x.operands[2])
    return evaluate(*x.operands[2]);
  return value::missing("an \"if\" without \"else\" was false");
}

result<value> evaluator::attribute(const value& x, std::string_view name) {
  if (x.is<undefined>())
    return why_undefined(x);
  if (x.is<space_ptr>()) {
    auto& members = x.as<space_ptr>()->members;
    if (auto found = members.find(name); found != members.end())
      return found->second;
  }
  if (auto method = find_method(x, name))
    return *method;
  if (x.is<dictionary_ptr>())
    if (auto* found = x.as<dictionary_ptr>()->find(name))
      return *found;
  return value::missing(
    fmt::format("{} has no member \"{}\"", type_name(x), name));
}

result<value> evaluator::evaluate_attribute(const expression& x) {
  auto of = evaluate(*x.operands[0]);
  if (!of)
    return of;
  return at_place(x.at, attribute(*of, x.name));
}

result<value> evaluator::evaluate_subscript(const expression& x) {
  auto of = evaluate(*x.operands[0]);
  if (!of)
    return of;
  auto key = evaluate(*x.operands[1]);
  if (!key)
    return key;
  return at_place(x.at, subscript(*of, *key, run_.spent));
}

result<value> evaluator::evaluate_slice(const expression& x) {
  auto of = evaluate(*x.operands[0]);
  if (!of)
    return of;
  value parts[3] = {value{none{}}, value{none{}}, value{none{}}};
  for (size_t i = 0; i < 3; ++i) {
    if (!x.operands[i + 1])
      continue;
    auto part = evaluate(*x.operands[i + 1]);
    if (!part)
      return part;
    parts[i] = std::move(*part);
  }
  return at_place(x.at, slice(*of, {parts[0], parts[1], parts[2]}, run_.spent));
}

result<void> evaluator::spread(const expression& x, call& into) {
  auto found = evaluate(x);
  if (!found)
    return tl::unexpected(std::move(found.error()));
  auto items = iterate(*found, run_.spent);
  if (!items)
    return fail(items.error().code, "line {}, column {}: {}", x.at.line,
                x.at.column, items.error().message);
  run_.spent.touch((*items)->items.size() * sizeof(value));
  into.positional.insert(into.positional.end(), (*items)->items.begin(),
                         (*items)->items.end());
  return {};
}

result<void> evaluator::spread_named(const expression& x, call& into) {
  auto found = evaluate(x);
  if (!found)
    return tl::unexpected(std::move(found.error()));
  auto refuse = [&](const value& what, std::string_view expected) {
    return fail(ec::invalid_argument,
                "line {}, column {}: \"**\": expected {}, found {}", x.at.line,
                x.at.column, expected, type_name(what));
  };
  if (!found->is<dictionary_ptr>())
    return refuse(*found, "a mapping");
  for (auto& [key, item] : found->as<dictionary_ptr>()->items()) {
    if (!key.is_text())
      return refuse(key, "strings for keys");
    into.named.emplace_back(key.text().bytes(), item);
  }
  return {};
}

result<void> evaluator::evaluate_arguments(const expression& x, call& into) {
  auto named = x.operands.size() - x.keywords.size();
  for (size_t i = 1; i < x.operands.size(); ++i) {
    auto found = evaluate(*x.operands[i]);
    if (!found)
      return tl::unexpected(std::move(found.error()));
    if (i < named)
      into.positional.push_back(std::move(*found));
    else
      into.named.emplace_back(x.keywords[i - named], std::move(*found));
  }
  if (x.rest)
    if (auto ok = spread(*x.rest, into); !ok)
      return ok;
  if (x.named_rest)
    return spread_named(*x.named_rest, into);
  return {};
}

result<value> evaluator::evaluate_call(const expression& x) {
  auto of = evaluate(*x.operands[0]);
  if (!of)
    return of;
  if (of->is<undefined>())
    return at_place(x.at, why_undefined(*of));
  if (!of->is<callable_ptr>())
    return at_place(x.at, fail(ec::invalid_argument,
                               "expected a function to call, found {}",
                               type_name(*of)));
  call arguments{run_, {}, {}, {}};
  if (auto ok = evaluate_arguments(x, arguments); !ok)
    return tl::unexpected(std::move(ok.error()));
  auto& function = *of->as<callable_ptr>();
  if (function.macro)
    return invoke(function, arguments);
  auto out = invoke(function, arguments);
  if (out || function.name == "raise_exception")
    return at_place(x.at, std::move(out));
  return fail(out.error().code, "line {}, column {}: {}(): {}", x.at.line,
              x.at.column, function.name, out.error().message);
}

result<value> evaluator::evaluate_builtin(const expression& x) {
  auto what = x.kind == kind::filter ? "filter" : "test";
  if (!x.code)
    return at_place(
      x.at, fail(ec::unsupported, "there is no {} \"{}\"", what, x.name));
  auto self = evaluate(*x.operands[0]);
  if (!self)
    return self;
  call arguments{run_, std::move(*self), {}, {}};
  if (auto ok = evaluate_arguments(x, arguments); !ok)
    return tl::unexpected(std::move(ok.error()));
  auto out = x.code(arguments);
  if (out)
    return out;
  return fail(out.error().code, "line {}, column {}: {} \"{}\": {}", x.at.line,
              x.at.column, what, x.name, out.error().message);
}

result<value> evaluator::invoke(const callable& x, call& arguments) {
  if (x.macro)
    return invoke_macro(x, arguments);
  arguments.self = x.self;
  return x.code(arguments);
}

result<value> evaluator::invoke_macro(const callable& x, call& arguments) {
  auto home = x.home.lock();
  if (!home)
    return fail(
      ec::unsupported,
      "line {}, column {}: the macro \"{}\" is called after the block "
      "that it stands in has ended",
      x.macro->at.line, x.macro->at.column, x.name);
  inner_scope inner{*this, std::move(home)};
  if (auto ok = bind_parameters(*x.macro, arguments); !ok)
    return tl::unexpected(std::move(ok.error()));
  return capture(x.macro->body);
}

result<void> evaluator::bind_parameters(const statement& macro,
                                        call& arguments) {
  auto refuse = [&](std::string_view why) {
    return fail(ec::invalid_argument, "line {}, column {}: macro \"{}\": {}",
                macro.at.line, macro.at.column, macro.text, why);
  };
  auto& parameters = macro.parameters;
  if (arguments.positional.size() > parameters.size())
    return refuse(fmt::format("expected at most {} arguments, found {}",
                              parameters.size(), arguments.positional.size()));
  for (size_t i = 0; i < arguments.positional.size(); ++i)
    scope_->names[parameters[i].name] = arguments.positional[i];
  for (auto& [name, given] : arguments.named) {
    auto place = std::find_if(parameters.begin(), parameters.end(),
                              [&](auto& x) { return x.name == name; });
    if (place == parameters.end() && name != "caller")
      return refuse(fmt::format("there is no argument \"{}\"", name));
    auto key = place == parameters.end() ? std::string_view{"caller"}
                                         : std::string_view{place->name};
    if (!scope_->names.emplace(key, given).second)
      return refuse(fmt::format("the argument \"{}\" is given twice", name));
  }
  for (auto& x : parameters) {
    if (scope_->names.contains(x.name))
      continue;
    auto found = x.fallback ? evaluate(*x.fallback)
                            : value::missing(fmt::format(
                                "the argument \"{}\" was not given", x.name));
    if (!found)
      return tl::unexpected(std::move(found.error()));
    scope_->names[x.name] = std::move(*found);
  }
  return {};
}

} // namespace troupe::jinja
