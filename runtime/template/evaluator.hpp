// Walks a syntax tree with variables, and writes a prompt. One evaluator is one
// rendering.
#pragma once

#include "runtime/template/syntax.hpp"
#include "runtime/template/value_text.hpp"

#include <string_view>

namespace troupe::jinja {

/// Variables of one block: a loop's round, a macro's call, the template.
struct scope {
  std::shared_ptr<scope> outer;
  std::unordered_map<std::string_view, value> names; ///< Keys are the tree's.
};

/// What a statement does to the loop around it.
enum class flow : uint8_t { go_on, stop_loop, next_round };

class evaluator {
public:
  /// @pre `variables` lives as long as this does.
  evaluator(const dictionary& variables, rendering run);
  ~evaluator();
  evaluator(const evaluator&) = delete;
  evaluator& operator=(const evaluator&) = delete;

  /// Renders `program`. Fails with "line L, column C: ..."; invalid_argument
  /// where the variables do not suit it, out_of_memory beyond a bound,
  /// unsupported. @pre `program` lives as long as this does.
  result<marked_text> run(const block& program);

private:
  using scope_ptr = std::shared_ptr<scope>;

  // Expressions.
  result<value> evaluate(const expression& x);
  result<value> dispatch(const expression& x);
  result<value> evaluate_name(const expression& x);
  result<value> evaluate_items(const expression& x);
  result<value> evaluate_dict(const expression& x);
  result<value> evaluate_logic(const expression& x);
  result<value> evaluate_arithmetic(const expression& x);
  result<value> evaluate_concat(const expression& x);
  result<value> evaluate_comparison(const expression& x);
  result<value> evaluate_conditional(const expression& x);
  result<value> evaluate_attribute(const expression& x);
  result<value> evaluate_subscript(const expression& x);
  result<value> evaluate_slice(const expression& x);
  result<value> evaluate_call(const expression& x);
  result<value> evaluate_builtin(const expression& x);
  result<void> evaluate_arguments(const expression& x, call& into);
  result<void> spread(const expression& x, call& into);
  result<void> spread_named(const expression& x, call& into);
  result<value> attribute(const value& x, std::string_view name);
  result<value> invoke(const callable& x, call& arguments);
  result<value> invoke_macro(const callable& x, call& arguments);
  result<void> bind_parameters(const statement& macro, call& arguments);
  value lookup(std::string_view name);

  // Statements.
  result<flow> execute(const block& xs);
  result<flow> execute_one(const statement& x);
  result<flow> execute_output(const statement& x);
  result<flow> execute_conditional(const statement& x);
  result<flow> execute_loop(const statement& x);
  result<sequence_ptr> items_of_loop(const statement& x);
  result<flow> execute_rounds(const statement& x, const sequence_ptr& items);
  result<flow> execute_assign(const statement& x);
  result<flow> execute_captured(const statement& x);
  result<flow> execute_macro(const statement& x);
  result<flow> execute_call_block(const statement& x);
  result<flow> execute_scope_block(const statement& x);
  result<void> assign(const target& to, const value& x);
  result<value> capture(const block& xs);
  result<value> through_filter(const expression& filter, value text);

  value make_macro(const statement& x) const;

  /// A new scope while it lives.
  class inner_scope {
  public:
    explicit inner_scope(evaluator& owner);
    inner_scope(evaluator& owner, scope_ptr outer);
    ~inner_scope();
    inner_scope(const inner_scope&) = delete;
    inner_scope& operator=(const inner_scope&) = delete;

  private:
    evaluator& owner_;
    scope_ptr before_;
  };

  /// One more level of recursion while it lives.
  class deeper {
  public:
    explicit deeper(evaluator& owner) : owner_(owner) {
      ++owner_.depth_;
    }
    ~deeper() {
      --owner_.depth_;
    }
    deeper(const deeper&) = delete;
    deeper& operator=(const deeper&) = delete;

  private:
    evaluator& owner_;
  };

  /// Counts a step at `at`; fails beyond a bound.
  result<void> step(place at);

  const dictionary& variables_;
  rendering run_;
  scope_ptr scope_;
  text_builder* out_ = nullptr;
  size_t depth_ = 0;
};

} // namespace troupe::jinja
