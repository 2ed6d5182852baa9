// The syntax tree of a template. Immutable once parsed; any number of
// renderings may walk one tree.
#pragma once

#include "runtime/template/callable.hpp"
#include "runtime/template/token.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe::jinja {

struct expression;
struct statement;

using expression_ptr = std::unique_ptr<const expression>;
using block = std::vector<statement>;

enum class expression_kind : uint8_t {
  literal,     ///< `constant`
  name,        ///< `name`
  list,        ///< [operands]
  tuple,       ///< (operands,)
  dict,        ///< {operands[0]: operands[1], ...}
  negative,    ///< -operands[0]
  positive,    ///< +operands[0]
  logical_not, ///< not operands[0]
  logical_and, ///< operands[0] and operands[1]
  logical_or,
  arithmetic,  ///< operands[0] operations[0] operands[1]
  concat,      ///< operands ~ operands ~ ...
  comparison,  ///< operands[0] operations[0] operands[1] operations[1] ...
  conditional, ///< operands[1] if operands[0] else operands[2] (or none there)
  attribute,   ///< operands[0].name
  subscript,   ///< operands[0][operands[1]]
  slice,  ///< operands[0][operands[1]:operands[2]:operands[3]], may be null
  call,   ///< operands[0](operands[1], ...)
  filter, ///< operands[0] | name(operands[1], ...)
  test,   ///< operands[0] is name(operands[1], ...)
};

enum class operation : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  contained, ///< in
  not_contained,
};

struct expression {
  expression_kind kind = expression_kind::literal;
  place at;
  std::string name;
  value constant;
  std::vector<expression_ptr> operands;
  std::vector<operation> operations;
  /// Of a call, filter or test: names of the last operands.
  std::vector<std::string> keywords;
  expression_ptr rest;       ///< The same's *arguments, or null.
  expression_ptr named_rest; ///< **arguments, or null.
  native code = nullptr;     ///< Of a filter or test; nullptr if there is none.
  size_t depth = 1;
};

enum class target_kind : uint8_t { name, attribute, tuple };

/// What a `set` or `for` gives values to.
struct target {
  target_kind kind = target_kind::name;
  place at;
  std::string name;
  std::string attribute; ///< Of the namespace `name`.
  std::vector<target> parts;
};

enum class statement_kind : uint8_t {
  text,         ///< `text`
  output,       ///< {{ subject }}
  conditional,  ///< `branches`, then `otherwise`
  loop,         ///< for to in subject if filter: body, else: otherwise
  assign,       ///< set to = subject
  assign_block, ///< set to: body, through `filter` if there is one
  macro,        ///< `text` is its name
  call_block,   ///< subject is the call, body what `caller` gives
  filter_block, ///< filter over body
  scope_block,  ///< with parameters: body
  group,        ///< body alone: {% generation %}
  stop_loop,    ///< break
  next_round,   ///< continue
};

struct branch {
  expression_ptr condition;
  block body;
};

/// A parameter of a macro, with its default; a variable of `with`.
struct parameter {
  std::string name;
  expression_ptr fallback;
};

struct statement {
  statement_kind kind = statement_kind::text;
  place at;
  std::string text;
  target to;
  expression_ptr subject;
  expression_ptr filter;
  std::vector<branch> branches;
  std::vector<parameter> parameters;
  block body;
  block otherwise;
};

/// The name by which the filter of a block finds the block's text. No template
/// can write it.
inline constexpr std::string_view block_text_name = "";

} // namespace troupe::jinja
