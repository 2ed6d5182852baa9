// Filters that give text.
#include "runtime/template/builtins.hpp"
#include "runtime/template/characters.hpp"
#include "runtime/template/operators.hpp"
#include "runtime/template/text_operations.hpp"
#include "runtime/template/value_text.hpp"

#include <algorithm>
#include <limits>

namespace troupe::jinja {

namespace {

template <class T>
tl::unexpected<error> pass(result<T>& x) {
  return tl::unexpected(std::move(x.error()));
}

using text_change = marked_text (*)(const marked_text&, budget&);

template <text_change Change>
result<value> filter_change(call& x) {
  if (auto args = bind(x, {}); !args)
    return pass(args);
  auto text = to_text(x.self, x.spent());
  if (!text)
    return pass(text);
  return value{Change(*text, x.spent())};
}

/// Jinja's own `title`: words begin after white space and -({[<.
marked_text title_words(const marked_text& x, budget& spent) {
  return title(
    x,
    [](char32_t c) {
      return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' ||
             c == '<';
    },
    spent);
}

result<value> filter_trim(call& x) {
  auto args = bind(x, {"chars"});
  if (!args)
    return pass(args);
  auto text = to_text(x.self, x.spent());
  if (!text)
    return pass(text);
  x.spent().touch(text->size());
  auto chars = args->or_default(0, value{none{}});
  if (chars.is<none>())
    return value{strip(*text, std::nullopt, text_end::both)};
  auto given = need_text(chars, "chars");
  if (!given)
    return pass(given);
  return value{strip(*text, (*given)->bytes(), text_end::both)};
}

result<value> filter_replace(call& x) {
  auto args = bind(x, {"old", "new", "count"}, 2);
  if (!args)
    return pass(args);
  auto text = to_text(x.self, x.spent());
  auto from = to_text(args->at(0), x.spent());
  auto to = to_text(args->at(1), x.spent());
  for (auto* part : {&text, &from, &to})
    if (!*part)
      return pass(*part);
  auto given = args->or_default(2, value{none{}});
  auto count =
    given.is<none>() ? result<int64_t>{-1} : need_integer(given, "count");
  if (!count)
    return pass(count);
  auto most = *count < 0 ? std::numeric_limits<size_t>::max()
                         : static_cast<size_t>(*count);
  return value{replace(*text, *from, *to, most, x.spent())};
}

/// What `indent` puts before a line: a number of blanks, or a text.
result<marked_text> indentation(const value& width, budget& spent) {
  if (width.is_text())
    return width.text();
  auto blanks = need_integer(width, "width");
  if (!blanks)
    return pass(blanks);
  auto count = static_cast<size_t>(std::max<int64_t>(*blanks, 0));
  if (!spent.may_make_text(count))
    count = 0;
  return marked_text{std::string(count, ' '), origin::scaffolding};
}

result<value> filter_indent(call& x) {
  auto args = bind(x, {"width", "first", "blank"});
  if (!args)
    return pass(args);
  auto text = to_text(x.self, x.spent());
  if (!text)
    return pass(text);
  auto blanks = indentation(args->or_default(0, value{int64_t{4}}), x.spent());
  if (!blanks)
    return pass(blanks);
  text_builder with_end{x.spent()};
  with_end.append(*text);
  with_end.append("\n"); // so that a last line end opens a line
  auto lines = split_lines(with_end.text(), line_ends::drop, x.spent());
  text_builder out{x.spent()};
  for (size_t i = 0; i < lines.size(); ++i) {
    auto is_indented =
      i == 0 ? args->flag(1) : args->flag(2) || !lines[i].text().empty();
    if (i > 0)
      out.append("\n");
    if (is_indented)
      out.append(*blanks);
    out.append(lines[i].text());
  }
  return out.to_value();
}

result<value> filter_escape(call& x) {
  auto text = to_text(x.self, x.spent());
  if (!text)
    return pass(text);
  text_builder out{x.spent()};
  for (size_t at = 0; at < text->size() && !x.spent().failed(); ++at) {
    auto c = text->bytes()[at];
    auto name = c == '&'    ? "&amp;"
                : c == '<'  ? "&lt;"
                : c == '>'  ? "&gt;"
                : c == '"'  ? "&#34;"
                : c == '\'' ? "&#39;"
                            : nullptr;
    if (name)
      out.append(name, text->from(at));
    else
      out.append(*text, at, 1);
  }
  return out.to_value();
}

result<value> filter_string(call& x) {
  auto text = to_text(x.self, x.spent());
  if (!text)
    return pass(text);
  return value{std::move(*text)};
}

result<value> filter_format(call& x) {
  auto text = to_text(x.self, x.spent());
  if (!text)
    return pass(text);
  if (x.named.empty())
    return format_percent(
      *text, make_sequence(x.spent(), x.positional, sequence_form::tuple),
      x.spent());
  dictionary named;
  for (auto& [name, given] : x.named)
    named.set(value::text(name), given);
  return format_percent(*text, make_dictionary(x.spent(), std::move(named)),
                        x.spent());
}

result<value> filter_join(call& x) {
  auto args = bind(x, {"d", "attribute"});
  if (!args)
    return pass(args);
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  auto between = to_text(args->or_default(0, value::text("")), x.spent());
  if (!between)
    return pass(between);
  text_builder out{x.spent()};
  auto is_first = true;
  for (auto& item : (*items)->items) {
    auto shown = args->has(1) ? attribute_of(item, args->at(1), x.spent())
                              : result<value>{item};
    if (!shown)
      return shown;
    if (!std::exchange(is_first, false))
      out.append(*between);
    if (auto ok = append_text(out, *shown); !ok)
      return pass(ok);
  }
  return out.to_value();
}

/// `indent` of json.dumps: blanks, or the text itself.
result<std::optional<std::string>> json_indent(const value& x) {
  if (x.is<none>())
    return std::nullopt;
  if (x.is_text())
    return std::string{x.text().bytes()};
  auto width = need_integer(x, "indent");
  if (!width)
    return pass(width);
  if (*width > 64)
    return fail(ec::invalid_argument, "indent: expected at most 64, found {}",
                *width);
  return std::string(static_cast<size_t>(std::max<int64_t>(*width, 0)), ' ');
}

result<void> set_separators(json_layout& layout, const value& x) {
  if (x.is<none>())
    return {};
  auto is_pair = x.is<sequence_ptr>() &&
                 x.as<sequence_ptr>()->items.size() == 2 &&
                 x.as<sequence_ptr>()->items[0].is_text() &&
                 x.as<sequence_ptr>()->items[1].is_text();
  if (!is_pair)
    return fail(ec::invalid_argument,
                "separators: expected two strings, found {}", type_name(x));
  layout.item_separator = x.as<sequence_ptr>()->items[0].text().bytes();
  layout.key_separator = x.as<sequence_ptr>()->items[1].text().bytes();
  return {};
}

/// transformers' own `tojson`: json.dumps without HTML escapes.
result<value> filter_tojson(call& x) {
  auto args = bind(x, {"ensure_ascii", "indent", "separators", "sort_keys"});
  if (!args)
    return pass(args);
  json_layout layout;
  layout.ascii_only = args->flag(0);
  layout.sorted_keys = args->flag(3);
  auto indent = json_indent(args->or_default(1, value{none{}}));
  if (!indent)
    return pass(indent);
  layout.indent = std::move(*indent);
  if (auto ok = set_separators(layout, args->or_default(2, value{none{}})); !ok)
    return pass(ok);
  text_builder out{x.spent()};
  if (auto ok = append_json(out, x.self, layout); !ok)
    return pass(ok);
  return out.to_value();
}

} // namespace

std::span<const named_native> text_filters() {
  static constexpr named_native table[] = {
    {"upper", filter_change<upper>},
    {"lower", filter_change<lower>},
    {"capitalize", filter_change<capitalize>},
    {"title", filter_change<title_words>},
    {"trim", filter_trim},
    {"replace", filter_replace},
    {"indent", filter_indent},
    {"escape", filter_escape},
    {"e", filter_escape},
    {"string", filter_string},
    {"safe", filter_string}, // there is nothing to be safe from
    {"format", filter_format},
    {"join", filter_join},
    {"tojson", filter_tojson},
  };
  return table;
}

} // namespace troupe::jinja
