// The values of a template: Python's, as far as a template can see them.
// Strings, lists and mappings never change once made; only namespaces do.
// Containers know their depth, so that walking one cannot exhaust the stack.
#pragma once

#include "runtime/error.hpp"
#include "runtime/template/budget.hpp"
#include "runtime/template/marked_text.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::jinja {

struct sequence;
class dictionary;
struct name_space;
struct loop_state;
struct callable;

/// No value: what was looked for and not found, for the message of whoever
/// needs one. Prints as nothing.
struct undefined {
  std::shared_ptr<const std::string> why;
};

struct none {};

using text_ptr = std::shared_ptr<const marked_text>;
using sequence_ptr = std::shared_ptr<const sequence>;
using dictionary_ptr = std::shared_ptr<const dictionary>;
using space_ptr = std::shared_ptr<name_space>;
using loop_ptr = std::shared_ptr<loop_state>;
using callable_ptr = std::shared_ptr<const callable>;

class value {
public:
  using storage =
    std::variant<undefined, none, bool, int64_t, double, text_ptr, sequence_ptr,
                 dictionary_ptr, space_ptr, loop_ptr, callable_ptr>;

  value() = default;

  template <class T>
  explicit value(T x) : data_(std::move(x)) {
    // nop
  }

  /// A string.
  explicit value(marked_text x)
    : data_(std::make_shared<const marked_text>(std::move(x))) {
    // nop
  }

  /// A string of the template's own.
  static value text(std::string_view x) {
    return value{marked_text{x, origin::scaffolding}};
  }

  static value missing(std::string why) {
    return value{
      undefined{std::make_shared<const std::string>(std::move(why))}};
  }

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }

  /// @pre is<T>()
  template <class T>
  const T& as() const {
    return std::get<T>(data_);
  }

  bool is_text() const {
    return is<text_ptr>();
  }

  /// @pre is_text()
  const marked_text& text() const {
    return *as<text_ptr>();
  }

  const storage& data() const {
    return data_;
  }

private:
  storage data_;
};

/// What Python type a row of values has. An `iterator` is what lazy filters
/// give: true even if empty, without length or index.
enum class sequence_form : uint8_t { list, tuple, iterator };

struct sequence {
  sequence_form form = sequence_form::list;
  std::vector<value> items;
  size_t depth = 1;
};

/// A mapping in order of insertion.
class dictionary {
public:
  using item = std::pair<value, value>;

  /// Sets `key`, which keeps its place if it is there already. Returns false
  /// if such a key cannot be hashed.
  bool set(value key, value x);

  /// nullptr if there is none.
  const value* find(const value& key) const;
  const value* find(std::string_view key) const;

  const std::vector<item>& items() const {
    return items_;
  }

  size_t depth() const {
    return depth_;
  }

private:
  std::vector<item> items_;
  std::unordered_map<std::string, size_t> index_; ///< By `hash_key`.
  size_t depth_ = 1;
};

/// `namespace(...)`. It may hold itself; who renders empties it at the end.
struct name_space {
  std::map<std::string, value, std::less<>> members;
};

/// What `loop` is within a `for`.
struct loop_state {
  sequence_ptr items;
  size_t index = 0;
  std::optional<value> changed; ///< Last argument of `loop.changed`.
};

/// Builds a list or tuple. Crossing a bound fails `spent` and gives an empty
/// one.
value make_sequence(budget& spent, std::vector<value> items,
                    sequence_form form = sequence_form::list);

value make_dictionary(budget& spent, dictionary x);

/// How deep containers nest in `x`; 0 for a scalar.
size_t depth_of(const value& x);

/// Text that equal keys share (1, 1.0 and true are equal); nothing if Python
/// could not hash `x`, or if it is a tuple with more than `tuple_key_bytes_max`
/// of text.
std::optional<std::string> hash_key(const value& x);
inline constexpr size_t tuple_key_bytes_max = 1 << 16;

/// Pays for looking `key` up.
void touch_key(budget& spent, const value& key);

/// "a string", "an undefined value": for "found ...".
std::string_view type_name(const value& x);

/// Python's `bool(x)`.
bool truth(const value& x);

/// `x` as a number, if it is one or a boolean.
std::optional<int64_t> integer_of(const value& x);
std::optional<double> number_of(const value& x);

/// Python's `a == b`.
bool equal(const value& a, const value& b, budget& spent);

/// Python's `a < b`: -1, 0 or 1. Fails on kinds that have no order.
result<int> compare(const value& a, const value& b, budget& spent);

/// The elements that a loop over `x` takes: of a list, characters of a string,
/// keys of a mapping, none of an undefined value. Fails on others.
result<sequence_ptr> iterate(const value& x, budget& spent);

} // namespace troupe::jinja
