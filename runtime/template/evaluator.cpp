// See evaluator.hpp: statements. Expressions are in expression_evaluator.cpp.
#include "runtime/template/evaluator.hpp"

namespace troupe::jinja {

evaluator::evaluator(const dictionary& variables, rendering run)
  : variables_(variables), run_(std::move(run)),
    scope_(std::make_shared<scope>()) {
  // nop
}

evaluator::~evaluator() {
  // Namespaces may hold themselves and each other.
  for (auto& x : run_.spaces)
    x->members.clear();
}

evaluator::inner_scope::inner_scope(evaluator& owner)
  : inner_scope(owner, owner.scope_) {
  // nop
}

evaluator::inner_scope::inner_scope(evaluator& owner, scope_ptr outer)
  : owner_(owner), before_(owner.scope_) {
  owner_.scope_ = std::make_shared<scope>(scope{std::move(outer), {}});
}

evaluator::inner_scope::~inner_scope() {
  owner_.scope_ = before_;
}

result<marked_text> evaluator::run(const block& program) {
  text_builder out{run_.spent};
  out_ = &out;
  if (auto ok = execute(program); !ok)
    return tl::unexpected(std::move(ok.error()));
  if (run_.spent.failed()) // in the last statement
    return tl::unexpected(run_.spent.failure());
  return out.take();
}

result<void> evaluator::step(place at) {
  run_.spent.step();
  if (depth_ > 2 * run_.spent.most().depth_max)
    run_.spent.may_nest(depth_);
  if (!run_.spent.failed())
    return {};
  auto& failure = run_.spent.failure();
  return fail(failure.code, "line {}, column {}: {}", at.line, at.column,
              failure.message);
}

result<flow> evaluator::execute(const block& xs) {
  for (auto& x : xs) {
    auto after = execute_one(x);
    if (!after || *after != flow::go_on)
      return after;
  }
  return flow::go_on;
}

result<flow> evaluator::execute_one(const statement& x) {
  deeper level{*this};
  if (auto ok = step(x.at); !ok)
    return tl::unexpected(std::move(ok.error()));
  switch (x.kind) {
  case statement_kind::text:
    out_->append(x.text);
    return flow::go_on;
  case statement_kind::output:
    return execute_output(x);
  case statement_kind::conditional:
    return execute_conditional(x);
  case statement_kind::loop:
    return execute_loop(x);
  case statement_kind::assign:
    return execute_assign(x);
  case statement_kind::assign_block:
  case statement_kind::filter_block:
    return execute_captured(x);
  case statement_kind::macro:
    return execute_macro(x);
  case statement_kind::call_block:
    return execute_call_block(x);
  case statement_kind::scope_block:
    return execute_scope_block(x);
  case statement_kind::group:
    return execute(x.body);
  case statement_kind::stop_loop:
    return flow::stop_loop;
  case statement_kind::next_round:
    return flow::next_round;
  }
  return flow::go_on;
}

namespace {

/// Puts the place in front of what a value's function objects to.
tl::unexpected<error> at_place(place at, error x) {
  return fail(x.code, "line {}, column {}: {}", at.line, at.column, x.message);
}

} // namespace

result<flow> evaluator::execute_output(const statement& x) {
  auto found = evaluate(*x.subject);
  if (!found)
    return tl::unexpected(std::move(found.error()));
  if (auto ok = append_text(*out_, *found); !ok)
    return at_place(x.subject->at, std::move(ok.error()));
  return flow::go_on;
}

result<flow> evaluator::execute_conditional(const statement& x) {
  for (auto& way : x.branches) {
    auto found = evaluate(*way.condition);
    if (!found)
      return tl::unexpected(std::move(found.error()));
    if (truth(*found))
      return execute(way.body);
  }
  return execute(x.otherwise);
}

result<flow> evaluator::execute_loop(const statement& x) {
  auto items = items_of_loop(x);
  if (!items)
    return tl::unexpected(std::move(items.error()));
  if ((*items)->items.empty()) {
    inner_scope inner{*this};
    return execute(x.otherwise);
  }
  return execute_rounds(x, *items);
}

result<sequence_ptr> evaluator::items_of_loop(const statement& x) {
  auto subject = evaluate(*x.subject);
  if (!subject)
    return tl::unexpected(std::move(subject.error()));
  auto items = iterate(*subject, run_.spent);
  if (!items)
    return at_place(x.subject->at, std::move(items.error()));
  if (!x.filter)
    return items;
  auto kept = std::make_shared<sequence>();
  for (auto& item : (*items)->items) {
    inner_scope inner{*this};
    if (auto ok = assign(x.to, item); !ok)
      return tl::unexpected(std::move(ok.error()));
    auto found = evaluate(*x.filter);
    if (!found)
      return tl::unexpected(std::move(found.error()));
    if (truth(*found))
      kept->items.push_back(item);
  }
  kept->depth = (*items)->depth;
  return kept;
}

result<flow> evaluator::execute_rounds(const statement& x,
                                       const sequence_ptr& items) {
  auto loop = std::make_shared<loop_state>();
  loop->items = items;
  for (; loop->index < items->items.size(); ++loop->index) {
    inner_scope inner{*this};
    if (auto ok = step(x.at); !ok)
      return tl::unexpected(std::move(ok.error()));
    scope_->names["loop"] = value{loop};
    if (auto ok = assign(x.to, items->items[loop->index]); !ok)
      return tl::unexpected(std::move(ok.error()));
    auto after = execute(x.body);
    if (!after)
      return after;
    if (*after == flow::stop_loop)
      break;
  }
  return flow::go_on;
}

result<void> evaluator::assign(const target& to, const value& x) {
  if (to.kind == target_kind::name) {
    scope_->names[to.name] = x;
    return {};
  }
  if (to.kind == target_kind::attribute) {
    auto space = lookup(to.name);
    if (!space.is<space_ptr>())
      return at_place(to.at,
                      {ec::invalid_argument,
                       fmt::format("\"{}.{}\": only members of a namespace can "
                                   "be set, found {}",
                                   to.name, to.attribute, type_name(space))});
    space.as<space_ptr>()->members[to.attribute] = x;
    return {};
  }
  auto items = iterate(x, run_.spent);
  if (!items)
    return at_place(to.at, std::move(items.error()));
  if ((*items)->items.size() != to.parts.size())
    return at_place(to.at,
                    {ec::invalid_argument,
                     fmt::format("expected {} values, found {}",
                                 to.parts.size(), (*items)->items.size())});
  for (size_t i = 0; i < to.parts.size(); ++i)
    if (auto ok = assign(to.parts[i], (*items)->items[i]); !ok)
      return ok;
  return {};
}

result<flow> evaluator::execute_assign(const statement& x) {
  auto found = evaluate(*x.subject);
  if (!found)
    return tl::unexpected(std::move(found.error()));
  if (auto ok = assign(x.to, *found); !ok)
    return tl::unexpected(std::move(ok.error()));
  return flow::go_on;
}

result<value> evaluator::capture(const block& xs) {
  text_builder own{run_.spent};
  auto outer = std::exchange(out_, &own);
  auto after = execute(xs);
  out_ = outer;
  if (!after)
    return tl::unexpected(std::move(after.error()));
  return own.to_value();
}

result<value> evaluator::through_filter(const expression& filter, value text) {
  inner_scope inner{*this};
  scope_->names[block_text_name] = std::move(text);
  return evaluate(filter);
}

result<flow> evaluator::execute_captured(const statement& x) {
  auto text = [&] {
    inner_scope inner{*this};
    return capture(x.body);
  }();
  if (text && x.filter)
    text = through_filter(*x.filter, std::move(*text));
  if (!text)
    return tl::unexpected(std::move(text.error()));
  auto ok = x.kind == statement_kind::filter_block ? append_text(*out_, *text)
                                                   : assign(x.to, *text);
  if (!ok)
    return tl::unexpected(std::move(ok.error()));
  return flow::go_on;
}

value evaluator::make_macro(const statement& x) const {
  auto out = std::make_shared<callable>();
  out->name = x.text;
  out->macro = &x;
  out->home = scope_;
  return value{callable_ptr{std::move(out)}};
}

result<flow> evaluator::execute_macro(const statement& x) {
  scope_->names[x.text] = make_macro(x);
  return flow::go_on;
}

result<flow> evaluator::execute_call_block(const statement& x) {
  auto macro = evaluate(*x.subject->operands[0]);
  if (!macro)
    return tl::unexpected(std::move(macro.error()));
  call arguments{run_, {}, {}, {}};
  if (auto ok = evaluate_arguments(*x.subject, arguments); !ok)
    return tl::unexpected(std::move(ok.error()));
  if (!macro->is<callable_ptr>() || !macro->as<callable_ptr>()->macro)
    return at_place(
      x.subject->at,
      {ec::invalid_argument,
       fmt::format("expected a macro to call, found {}", type_name(*macro))});
  arguments.named.emplace_back("caller", make_macro(x));
  auto text = invoke(*macro->as<callable_ptr>(), arguments);
  if (!text)
    return tl::unexpected(std::move(text.error()));
  if (auto ok = append_text(*out_, *text); !ok)
    return at_place(x.at, std::move(ok.error()));
  return flow::go_on;
}

result<flow> evaluator::execute_scope_block(const statement& x) {
  std::vector<value> given;
  for (auto& variable : x.parameters) {
    auto found = evaluate(*variable.fallback);
    if (!found)
      return tl::unexpected(std::move(found.error()));
    given.push_back(std::move(*found));
  }
  inner_scope inner{*this};
  for (size_t i = 0; i < given.size(); ++i)
    scope_->names[x.parameters[i].name] = given[i];
  return execute(x.body);
}

} // namespace troupe::jinja
