#include "config/toml_reader.hpp"

#include "config/text_file.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <toml++/toml.h>

namespace troupe {

namespace {

constexpr size_t faults_shown_max = 20;

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text.substr(0, 60))
    result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return result + (text.size() > 60 ? "...\"" : "\"");
}

/// What stands at a key, for "found ...".
std::string found(const toml::node& x) {
  if (auto s = x.value_exact<std::string_view>())
    return quoted(*s);
  if (auto i = x.value_exact<int64_t>())
    return fmt::format("{}", *i);
  if (auto d = x.value_exact<double>())
    return fmt::format("{}", *d);
  if (auto b = x.value_exact<bool>())
    return *b ? "true" : "false";
  if (x.is_table())
    return "a table";
  if (x.is_array())
    return "a list";
  return "a date or time";
}

template <class T>
std::string render(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("{}", x);
  else
    return to_string(x);
}

template <class T>
std::string render(std::string_view what, interval<T> range) {
  return fmt::format("{} from {} to {}", what, render(range.min),
                     render(range.max));
}

struct fault {
  uint32_t line = 0;
  std::string text;
};

} // namespace

namespace detail {

struct toml_node {
  const toml::table* table = nullptr; ///< nullptr: the file has no such table.
};

struct toml_state {
  std::string name;
  toml::table root;
  std::vector<fault> faults;
  /// Keys that a schema asked for, present or not.
  std::map<const toml::table*, std::set<std::string, std::less<>>> asked;

  void add(uint32_t line, std::string_view key, std::string_view what) {
    auto at = line == 0 ? name : fmt::format("{}:{}", name, line);
    faults.push_back({line, fmt::format("{}: {}: {}", at, key, what)});
  }

  void find_unknown(const toml::table& table, const std::string& path);
};

void toml_state::find_unknown(const toml::table& table,
                              const std::string& path) {
  auto& known = asked[&table];
  for (auto&& [key, value] : table) {
    auto full = path + std::string{key.str()};
    if (known.count(key.str()) == 0) {
      add(key.source().begin.line, full,
          fmt::format("unknown key; expected one of: {}",
                      fmt::join(known, ", ")));
      continue;
    }
    if (auto* inner = value.as_table())
      find_unknown(*inner, full + ".");
    if (auto* list = value.as_array())
      for (size_t i = 0; i < list->size(); ++i)
        if (auto* inner = list->get(i)->as_table())
          find_unknown(*inner, fmt::format("{}[{}].", full, i));
  }
}

} // namespace detail

// -- toml_section
// --------------------------------------------------------------

/// The one place where keys are looked up: records that `key` is known, and
/// adds a fault if it is required and missing.
struct toml_lookup {
  static std::string full(const toml_section& self, std::string_view key) {
    return self.path_.empty() ? std::string{key}
                              : fmt::format("{}.{}", self.path_, key);
  }

  static const toml::node* find(toml_section& self, std::string_view key,
                                presence needed) {
    auto* table = self.node_->table;
    const toml::node* node = nullptr;
    if (table) {
      self.state_->asked[table].emplace(key);
      node = table->get(key);
    }
    if (!node && needed == presence::required)
      self.state_->add(table ? table->source().begin.line : 0, full(self, key),
                       "missing; this key is required");
    return node;
  }

  static void expected(toml_section& self, std::string_view key,
                       const toml::node& node, std::string_view what) {
    self.state_->add(node.source().begin.line, full(self, key),
                     fmt::format("expected {}, found {}", what, found(node)));
  }

  /// Reads through `convert`, which returns an optional T.
  template <class T, class Convert>
  static void read(toml_section& self, std::string_view key, T& out,
                   interval<T> range, presence needed, std::string_view what,
                   Convert convert) {
    auto* node = find(self, key, needed);
    if (!node)
      return;
    std::optional<T> x = convert(*node);
    // Written so that NaN, which compares false, is refused too.
    if (!x || !(*x >= range.min && *x <= range.max))
      expected(self, key, *node, render(what, range));
    else
      out = *x;
  }

  template <class T>
  static std::optional<T> whole_number(const toml::node& node) {
    auto x = node.value_exact<int64_t>();
    if (!x || *x < 0 ||
        static_cast<uint64_t>(*x) > std::numeric_limits<T>::max())
      return std::nullopt;
    return static_cast<T>(*x);
  }
};

toml_section::toml_section(std::shared_ptr<detail::toml_state> state,
                           std::shared_ptr<const detail::toml_node> node,
                           std::string path)
  : state_(std::move(state)), node_(std::move(node)), path_(std::move(path)) {
  // nop
}

void toml_section::read(std::string_view key, bool& out, presence needed) {
  auto* node = toml_lookup::find(*this, key, needed);
  if (!node)
    return;
  if (auto x = node->value_exact<bool>())
    out = *x;
  else
    toml_lookup::expected(*this, key, *node, "true or false");
}

void toml_section::read(std::string_view key, std::string& out,
                        presence needed) {
  auto* node = toml_lookup::find(*this, key, needed);
  if (!node)
    return;
  if (auto x = node->value_exact<std::string>())
    out = *x;
  else
    toml_lookup::expected(*this, key, *node, "a string");
}

void toml_section::read(std::string_view key, uint32_t& out,
                        interval<uint32_t> range, presence needed) {
  toml_lookup::read(*this, key, out, range, needed, "a whole number",
                    toml_lookup::whole_number<uint32_t>);
}

void toml_section::read(std::string_view key, uint64_t& out,
                        interval<uint64_t> range, presence needed) {
  toml_lookup::read(*this, key, out, range, needed, "a whole number",
                    toml_lookup::whole_number<uint64_t>);
}

void toml_section::read(std::string_view key, double& out,
                        interval<double> range, presence needed) {
  toml_lookup::read(
    *this, key, out, range, needed, "a number", [](const toml::node& node) {
      // An integer is a fine way to write a number; a boolean is not.
      return node.is_number() ? node.value<double>() : std::nullopt;
    });
}

void toml_section::read(std::string_view key, std::chrono::microseconds& out,
                        interval<std::chrono::microseconds> range,
                        presence needed) {
  toml_lookup::read(*this, key, out, range, needed,
                    "a duration (such as \"20ms\")",
                    [](const toml::node& node) {
                      auto text = node.value_exact<std::string_view>();
                      return text ? parse_duration(*text) : std::nullopt;
                    });
}

void toml_section::read(std::string_view key, byte_size& out,
                        interval<byte_size> range, presence needed) {
  toml_lookup::read(*this, key, out, range, needed,
                    "a size (such as \"64MiB\")",
                    [](const toml::node& node) -> std::optional<byte_size> {
                      if (auto text = node.value_exact<std::string_view>())
                        return parse_byte_size(*text);
                      if (auto x = toml_lookup::whole_number<uint64_t>(node))
                        return byte_size{*x};
                      return std::nullopt;
                    });
}

void toml_section::read_strings(std::string_view key,
                                std::vector<std::string>& out,
                                presence needed) {
  auto* node = toml_lookup::find(*this, key, needed);
  if (!node)
    return;
  if (auto x = node->value_exact<std::string>()) {
    out = {*x};
    return;
  }
  std::vector<std::string> strings;
  bool fits = node->is_array();
  if (fits)
    for (auto& item : *node->as_array()) {
      auto x = item.value_exact<std::string>();
      fits = fits && x.has_value();
      strings.push_back(x.value_or(""));
    }
  if (fits)
    out = std::move(strings);
  else
    toml_lookup::expected(*this, key, *node, "a string or a list of strings");
}

std::optional<toml_scalar> toml_section::read_scalar(std::string_view key) {
  auto* node = toml_lookup::find(*this, key, presence::required);
  if (!node)
    return std::nullopt;
  if (auto x = node->value_exact<bool>())
    return toml_scalar{*x};
  if (auto x = node->value_exact<int64_t>())
    return toml_scalar{*x};
  if (auto x = node->value_exact<double>())
    return toml_scalar{*x};
  if (auto x = node->value_exact<std::string>())
    return toml_scalar{*x};
  toml_lookup::expected(*this, key, *node, "a boolean, a number or a string");
  return std::nullopt;
}

std::optional<size_t>
toml_section::read_choice(std::string_view key,
                          std::span<const std::string_view> known,
                          presence needed) {
  auto* node = toml_lookup::find(*this, key, needed);
  if (!node)
    return std::nullopt;
  if (auto x = node->value_exact<std::string_view>()) {
    auto i = std::find(known.begin(), known.end(), *x);
    if (i != known.end())
      return static_cast<size_t>(i - known.begin());
  }
  toml_lookup::expected(
    *this, key, *node,
    fmt::format("one of: \"{}\"", fmt::join(known, "\", \"")));
  return std::nullopt;
}

bool toml_section::has(std::string_view key) const {
  return node_->table && node_->table->contains(key);
}

std::vector<std::string> toml_section::keys() const {
  std::vector<std::string> result;
  if (node_->table)
    for (auto&& [key, value] : *node_->table)
      result.emplace_back(key.str());
  return result;
}

toml_section toml_section::section(std::string_view key, presence needed) {
  auto* node = toml_lookup::find(*this, key, needed);
  auto inner = std::make_shared<detail::toml_node>();
  if (node) {
    inner->table = node->as_table();
    if (!inner->table)
      toml_lookup::expected(*this, key, *node,
                            fmt::format("a table [{}]", key));
  }
  return {state_, std::move(inner), toml_lookup::full(*this, key)};
}

std::vector<toml_section> toml_section::sections(std::string_view key) {
  std::vector<toml_section> result;
  auto* node = toml_lookup::find(*this, key, presence::optional);
  if (!node)
    return result;
  auto* list = node->as_array();
  if (!list || !std::all_of(list->begin(), list->end(),
                            [](auto& x) { return x.is_table(); })) {
    toml_lookup::expected(*this, key, *node, fmt::format("tables [[{}]]", key));
    return result;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    auto inner = std::make_shared<detail::toml_node>();
    inner->table = list->get(i)->as_table();
    result.push_back(
      toml_section{state_, std::move(inner),
                   fmt::format("{}[{}]", toml_lookup::full(*this, key), i)});
  }
  return result;
}

void toml_section::refuse(std::string_view key, std::string what) {
  uint32_t line = 0;
  if (auto* table = node_->table) {
    auto* node = table->get(key);
    line = (node ? node->source() : table->source()).begin.line;
  }
  state_->add(line, toml_lookup::full(*this, key), what);
}

// -- toml_file
// -----------------------------------------------------------------

toml_file::toml_file(std::shared_ptr<detail::toml_state> state)
  : state_(std::move(state)) {
  // nop
}

result<toml_file> toml_file::read(const std::string& path) {
  auto text = read_text_file(path, toml_bytes_max);
  if (!text)
    return tl::unexpected(std::move(text).error());
  return parse(*text, path);
}

result<toml_file> toml_file::parse(std::string_view text, std::string name) {
  if (text.size() > toml_bytes_max)
    return fail(ec::bad_format, "{}: expected at most {} bytes, found {}", name,
                toml_bytes_max, text.size());
  auto state = std::make_shared<detail::toml_state>();
  state->name = std::move(name);
  try {
    state->root = toml::parse(text);
  } catch (const toml::parse_error& x) {
    return fail(ec::bad_format, "{}:{}:{}: not valid TOML: {}", state->name,
                x.source().begin.line, x.source().begin.column,
                x.description());
  } catch (const std::exception& x) {
    return fail(ec::bad_format, "{}: not valid TOML: {}", state->name,
                x.what());
  }
  return toml_file{std::move(state)};
}

toml_section toml_file::root() {
  auto node = std::make_shared<detail::toml_node>();
  node->table = &state_->root;
  return toml_section{state_, std::move(node), ""};
}

const std::string& toml_file::name() const {
  return state_->name;
}

result<void> toml_file::finish() {
  state_->find_unknown(state_->root, "");
  auto& faults = state_->faults;
  if (faults.empty())
    return {};
  std::stable_sort(faults.begin(), faults.end(),
                   [](auto& x, auto& y) { return x.line < y.line; });
  std::string text;
  for (size_t i = 0; i < faults.size() && i < faults_shown_max; ++i)
    text += (i == 0 ? "" : "\n") + faults[i].text;
  if (faults.size() > faults_shown_max)
    text += fmt::format("\nand {} more", faults.size() - faults_shown_max);
  return fail(ec::invalid_argument, "{}", text);
}

} // namespace troupe
