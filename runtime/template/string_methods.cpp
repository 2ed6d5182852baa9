// Methods of strings, as Python's.
#include "runtime/template/builtins.hpp"
#include "runtime/template/characters.hpp"
#include "runtime/template/text_operations.hpp"
#include "runtime/template/value_text.hpp"

#include <algorithm>
#include <limits>

namespace troupe::jinja {

namespace {

constexpr auto npos = std::string_view::npos;

template <class T>
tl::unexpected<error> pass(result<T>& x) {
  return tl::unexpected(std::move(x.error()));
}

const marked_text& self_text(const call& x) {
  return x.self.text();
}

template <text_end Where>
result<value> call_strip(call& x) {
  auto args = bind(x, {"chars"});
  if (!args)
    return pass(args);
  x.spent().touch(self_text(x).size());
  auto chars = args->or_default(0, value{none{}});
  if (chars.is<none>())
    return value{strip(self_text(x), std::nullopt, Where)};
  auto given = need_text(chars, "chars");
  if (!given)
    return pass(given);
  return value{strip(self_text(x), (*given)->bytes(), Where)};
}

using text_change = marked_text (*)(const marked_text&, budget&);

template <text_change Change>
result<value> call_change(call& x) {
  if (auto args = bind(x, {}); !args)
    return pass(args);
  return value{Change(self_text(x), x.spent())};
}

/// Python's `str.title`: a word begins after what is no letter.
result<value> call_title(call& x) {
  if (auto args = bind(x, {}); !args)
    return pass(args);
  return value{title(
    self_text(x),
    [](char32_t c) { return to_upper(c) == c && to_lower(c) == c; },
    x.spent())};
}

/// A count of which a negative one means all.
result<size_t> count_of(const bound_arguments& args, size_t i) {
  auto given = need_integer(args.or_default(i, value{int64_t{-1}}), "count");
  if (!given)
    return pass(given);
  return *given < 0 ? std::numeric_limits<size_t>::max()
                    : static_cast<size_t>(*given);
}

using cut_at = std::vector<value> (*)(const marked_text&, std::string_view,
                                      size_t, budget&);
using cut_words = std::vector<value> (*)(const marked_text&, size_t, budget&);

template <cut_at At, cut_words Words>
result<value> call_split(call& x) {
  auto args = bind(x, {"sep", "maxsplit"});
  if (!args)
    return pass(args);
  auto count = count_of(*args, 1);
  if (!count)
    return pass(count);
  auto separator = args->or_default(0, value{none{}});
  x.spent().touch(self_text(x).size());
  if (separator.is<none>())
    return make_sequence(x.spent(), Words(self_text(x), *count, x.spent()));
  auto given = need_text(separator, "sep");
  if (!given)
    return pass(given);
  if ((*given)->empty())
    return fail(ec::invalid_argument, "sep: expected a string, found \"\"");
  return make_sequence(x.spent(),
                       At(self_text(x), (*given)->bytes(), *count, x.spent()));
}

result<value> call_splitlines(call& x) {
  auto args = bind(x, {"keepends"});
  if (!args)
    return pass(args);
  x.spent().touch(self_text(x).size());
  return make_sequence(
    x.spent(),
    split_lines(self_text(x), args->flag(0) ? line_ends::keep : line_ends::drop,
                x.spent()));
}

/// The texts of an argument that is a string or a tuple of strings.
result<std::vector<text_ptr>> texts_of(const value& x) {
  std::vector<text_ptr> out;
  if (!x.is<sequence_ptr>()) {
    auto one = need_text(x, "prefix or suffix");
    if (!one)
      return pass(one);
    out.push_back(*one);
    return out;
  }
  for (auto& item : x.as<sequence_ptr>()->items) {
    auto one = need_text(item, "prefix or suffix");
    if (!one)
      return pass(one);
    out.push_back(*one);
  }
  return out;
}

/// The part of the text that optional bounds leave, in bytes.
struct text_part {
  std::string_view bytes;
  size_t begin = 0; ///< In characters.
};

result<text_part> part_of(const call& x, const bound_arguments& args) {
  auto bytes = self_text(x).bytes();
  x.spent().touch(bytes.size());
  auto size = static_cast<int64_t>(count_characters(bytes));
  int64_t bounds[2] = {0, size};
  for (size_t i = 0; i < 2; ++i) {
    auto given = args.or_default(i + 1, value{none{}});
    if (given.is<none>())
      continue;
    auto whole = need_integer(given, i == 0 ? "start" : "end");
    if (!whole)
      return pass(whole);
    bounds[i] =
      std::clamp<int64_t>(*whole < 0 ? *whole + size : *whole, 0, size);
  }
  auto begin = static_cast<size_t>(bounds[0]);
  auto from = offset_of_character(bytes, begin);
  auto to = offset_of_character(
    bytes, static_cast<size_t>(std::max(bounds[0], bounds[1])));
  return text_part{bytes.substr(from, to - from), begin};
}

enum class affix : uint8_t { begin, end };

template <affix Where>
result<value> call_affix(call& x) {
  auto args = bind(x, {"prefix", "start", "end"}, 1);
  if (!args)
    return pass(args);
  auto wanted = texts_of(args->at(0));
  if (!wanted)
    return pass(wanted);
  auto part = part_of(x, *args);
  if (!part)
    return pass(part);
  return value{std::any_of(wanted->begin(), wanted->end(), [&](auto& one) {
    return Where == affix::begin ? part->bytes.starts_with(one->bytes())
                                 : part->bytes.ends_with(one->bytes());
  })};
}

enum class search : uint8_t { first, last };

/// Last place of `what`: in time that the budget bounds.
size_t find_last(std::string_view text, std::string_view what, budget& spent) {
  auto found = npos;
  for (auto at = find_text(text, what); at != npos && !spent.failed();
       at = find_text(text, what, at + 1)) {
    found = at;
    spent.touch(what.size() + 1);
  }
  return found;
}

result<int64_t> find_in_self(call& x, search which) {
  auto args = bind(x, {"sub", "start", "end"}, 1);
  if (!args)
    return pass(args);
  auto wanted = need_text(args->at(0), "sub");
  if (!wanted)
    return pass(wanted);
  auto part = part_of(x, *args);
  if (!part)
    return pass(part);
  auto found = which == search::first
                 ? find_text(part->bytes, (*wanted)->bytes())
                 : find_last(part->bytes, (*wanted)->bytes(), x.spent());
  if (found == npos)
    return int64_t{-1};
  return static_cast<int64_t>(part->begin +
                              count_characters(part->bytes.substr(0, found)));
}

template <search Which>
result<value> call_find(call& x) {
  auto found = find_in_self(x, Which);
  if (!found)
    return pass(found);
  return value{*found};
}

template <search Which>
result<value> call_index(call& x) {
  auto found = find_in_self(x, Which);
  if (found && *found < 0)
    return fail(ec::invalid_argument, "substring not found");
  if (!found)
    return pass(found);
  return value{*found};
}

result<value> call_count(call& x) {
  auto args = bind(x, {"sub", "start", "end"}, 1);
  if (!args)
    return pass(args);
  auto wanted = need_text(args->at(0), "sub");
  if (!wanted)
    return pass(wanted);
  auto part = part_of(x, *args);
  if (!part)
    return pass(part);
  if ((*wanted)->empty())
    return value{static_cast<int64_t>(count_characters(part->bytes) + 1)};
  int64_t count = 0;
  for (auto at = find_text(part->bytes, (*wanted)->bytes()); at != npos;
       at = find_text(part->bytes, (*wanted)->bytes(), at + (*wanted)->size()))
    ++count;
  return value{count};
}

result<value> call_replace(call& x) {
  auto args = bind(x, {"old", "new", "count"}, 2);
  if (!args)
    return pass(args);
  auto from = need_text(args->at(0), "old");
  if (!from)
    return pass(from);
  auto to = need_text(args->at(1), "new");
  if (!to)
    return pass(to);
  auto count = count_of(*args, 2);
  if (!count)
    return pass(count);
  return value{replace(self_text(x), **from, **to, *count, x.spent())};
}

result<value> call_join(call& x) {
  auto args = bind(x, {"iterable"}, 1);
  if (!args)
    return pass(args);
  auto items = iterate(args->at(0), x.spent());
  if (!items)
    return pass(items);
  text_builder out{x.spent()};
  auto is_first = true;
  for (auto& item : (*items)->items) {
    auto part = need_text(item, "an element to join");
    if (!part)
      return pass(part);
    if (!std::exchange(is_first, false))
      out.append(self_text(x));
    out.append(**part);
  }
  return out.to_value();
}

/// What "{...}" asks for: the next value, "0" or a name.
result<value> format_field(const call& x, std::string_view field,
                           size_t& next) {
  auto is_number = !field.empty() && field.size() < 4 &&
                   std::all_of(field.begin(), field.end(),
                               [](char c) { return c >= '0' && c <= '9'; });
  if (field.empty() || is_number) {
    auto i = field.empty() ? next++ : std::stoul(std::string{field});
    if (i < x.positional.size())
      return x.positional[i];
    return fail(ec::invalid_argument, "there is no value {}", i);
  }
  for (auto& [name, given] : x.named)
    if (name == field)
      return given;
  return fail(ec::unsupported,
              "\"{{{}}}\": expected {{}}, {{0}} or the name of an argument",
              field.substr(0, 40));
}

result<value> call_format(call& x) {
  auto& self = self_text(x);
  auto bytes = self.bytes();
  text_builder out{x.spent()};
  size_t next = 0;
  for (size_t at = 0; at < bytes.size() && !x.spent().failed();) {
    auto brace = std::min(bytes.find_first_of("{}", at), bytes.size());
    out.append(self, at, brace - at);
    if (brace == bytes.size())
      break;
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.append(self, brace, 1);
      at = brace + 2;
      continue;
    }
    auto end = bytes[brace] == '{' ? bytes.find('}', brace) : npos;
    if (end == npos)
      return fail(ec::invalid_argument, "a single \"{}\"", bytes[brace]);
    auto found =
      format_field(x, bytes.substr(brace + 1, end - brace - 1), next);
    if (!found)
      return found;
    if (auto ok = append_text(out, *found); !ok)
      return pass(ok);
    at = end + 1;
  }
  return out.to_value();
}

template <bool (*Holds)(char32_t)>
result<value> call_all(call& x) {
  auto bytes = self_text(x).bytes();
  x.spent().touch(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += character_bytes(bytes[at]))
    if (!Holds(character_at(bytes, at)))
      return value{false};
  return value{!bytes.empty()};
}

bool is_digit(char32_t x) {
  return x >= '0' && x <= '9';
}

bool is_letter(char32_t x) {
  return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') ||
         (x >= 0x80 && (is_upper(x) || is_lower(x)));
}

bool is_letter_or_digit(char32_t x) {
  return is_letter(x) || is_digit(x);
}

template <affix Where>
result<value> call_remove(call& x) {
  auto args = bind(x, {"affix"}, 1);
  if (!args)
    return pass(args);
  auto wanted = need_text(args->at(0), "affix");
  if (!wanted)
    return pass(wanted);
  auto& self = self_text(x);
  auto what = (*wanted)->bytes();
  auto rest = self.size() - std::min(self.size(), what.size());
  x.spent().touch(self.size());
  if (Where == affix::begin && self.bytes().starts_with(what))
    return value{self.slice(what.size(), rest)};
  if (Where == affix::end && self.bytes().ends_with(what))
    return value{self.slice(0, rest)};
  return x.self;
}

} // namespace

std::span<const named_native> string_methods() {
  static constexpr named_native table[] = {
    {"strip", call_strip<text_end::both>},
    {"lstrip", call_strip<text_end::left>},
    {"rstrip", call_strip<text_end::right>},
    {"upper", call_change<upper>},
    {"lower", call_change<lower>},
    {"capitalize", call_change<capitalize>},
    {"title", call_title},
    {"split", call_split<split, split_words>},
    {"rsplit", call_split<split_right, split_words_right>},
    {"splitlines", call_splitlines},
    {"startswith", call_affix<affix::begin>},
    {"endswith", call_affix<affix::end>},
    {"removeprefix", call_remove<affix::begin>},
    {"removesuffix", call_remove<affix::end>},
    {"find", call_find<search::first>},
    {"rfind", call_find<search::last>},
    {"index", call_index<search::first>},
    {"rindex", call_index<search::last>},
    {"count", call_count},
    {"replace", call_replace},
    {"join", call_join},
    {"format", call_format},
    {"isdigit", call_all<is_digit>},
    {"isalpha", call_all<is_letter>},
    {"isalnum", call_all<is_letter_or_digit>},
    {"isspace", call_all<is_space>},
  };
  return table;
}

} // namespace troupe::jinja
