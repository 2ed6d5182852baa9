#include "runtime/template/text_operations.hpp"

#include "runtime/template/characters.hpp"

#include <algorithm>

namespace troupe::jinja {

namespace {

constexpr auto npos = std::string_view::npos;

bool is_stripped(std::string_view text, size_t at,
                 std::optional<std::string_view> chars) {
  if (!chars)
    return is_space(character_at(text, at));
  return find_text(*chars, text.substr(at, character_bytes(text[at]))) != npos;
}

/// Where the character that ends at `end` begins.
size_t previous_character(std::string_view text, size_t end) {
  --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return end;
}

void append_changed(text_builder& out, const marked_text& x, size_t at,
                    char32_t (*change)(char32_t)) {
  auto point = character_at(x.bytes(), at);
  std::string changed;
  if (change == to_upper && point == U'\u00DF')
    changed = "SS";
  else
    append_character(changed, change(point));
  out.append(changed, x.from(at));
}

marked_text change_all(const marked_text& x, char32_t (*change)(char32_t),
                       budget& spent) {
  text_builder out{spent};
  for (size_t at = 0; at < x.size() && !spent.failed();
       at += character_bytes(x.bytes()[at]))
    append_changed(out, x, at, change);
  return out.take();
}

} // namespace

marked_text strip(const marked_text& x, std::optional<std::string_view> chars,
                  text_end where) {
  auto bytes = x.bytes();
  size_t begin = 0;
  auto end = bytes.size();
  if (where != text_end::right)
    while (begin < end && is_stripped(bytes, begin, chars))
      begin += character_bytes(bytes[begin]);
  if (where != text_end::left)
    while (end > begin &&
           is_stripped(bytes, previous_character(bytes, end), chars))
      end = previous_character(bytes, end);
  return x.slice(begin, end - begin);
}

marked_text upper(const marked_text& x, budget& spent) {
  return change_all(x, to_upper, spent);
}

marked_text lower(const marked_text& x, budget& spent) {
  return change_all(x, to_lower, spent);
}

marked_text capitalize(const marked_text& x, budget& spent) {
  text_builder out{spent};
  for (size_t at = 0; at < x.size() && !spent.failed();
       at += character_bytes(x.bytes()[at]))
    append_changed(out, x, at, at == 0 ? to_upper : to_lower);
  return out.take();
}

marked_text title(const marked_text& x, bool (*is_gap)(char32_t),
                  budget& spent) {
  text_builder out{spent};
  auto is_begin = true;
  for (size_t at = 0; at < x.size() && !spent.failed();
       at += character_bytes(x.bytes()[at])) {
    append_changed(out, x, at, is_begin ? to_upper : to_lower);
    is_begin = is_gap(character_at(x.bytes(), at));
  }
  return out.take();
}

namespace {

/// An empty `from` stands before each character and at the end.
marked_text insert_between(const marked_text& x, const marked_text& to,
                           size_t count, budget& spent) {
  text_builder out{spent};
  for (size_t at = 0; at < x.size() && !spent.failed();) {
    if (count > 0) {
      out.append(to);
      --count;
    }
    auto length = character_bytes(x.bytes()[at]);
    out.append(x, at, length);
    at += length;
  }
  if (count > 0)
    out.append(to);
  return out.take();
}

} // namespace

marked_text replace(const marked_text& x, const marked_text& from,
                    const marked_text& to, size_t count, budget& spent) {
  spent.touch(x.size());
  if (from.empty())
    return insert_between(x, to, count, spent);
  text_builder out{spent};
  size_t at = 0;
  for (; count > 0 && !spent.failed(); --count) {
    auto found = find_text(x.bytes(), from.bytes(), at);
    if (found == npos)
      break;
    out.append(x, at, found - at);
    out.append(to);
    at = found + from.size();
  }
  out.append(x, at, x.size() - at);
  return out.take();
}

namespace {

/// Collects pieces of a text, within the bounds of a list.
class piece_list {
public:
  piece_list(const marked_text& x, budget& spent) : x_(x), spent_(spent) {
    // nop
  }

  /// The piece [begin, end). Returns whether there may be more.
  bool add(size_t begin, size_t end) {
    spent_.touch(end - begin + sizeof(marked_text));
    if (!spent_.may_make_items(items_.size() + 1))
      return false;
    items_.emplace_back(x_.slice(begin, end - begin));
    return true;
  }

  std::vector<value> take() {
    return std::move(items_);
  }

  std::vector<value> take_reversed() {
    std::reverse(items_.begin(), items_.end());
    return std::move(items_);
  }

private:
  const marked_text& x_;
  budget& spent_;
  std::vector<value> items_;
};

} // namespace

std::vector<value> split(const marked_text& x, std::string_view separator,
                         size_t count, budget& spent) {
  spent.touch(x.size());
  piece_list out{x, spent};
  size_t at = 0;
  for (; count > 0; --count) {
    auto found = find_text(x.bytes(), separator, at);
    if (found == npos || !out.add(at, found))
      break;
    at = found + separator.size();
  }
  out.add(at, x.size());
  return out.take();
}

std::vector<value> split_right(const marked_text& x, std::string_view separator,
                               size_t count, budget& spent) {
  // Each step looks at no more than what is left.
  piece_list out{x, spent};
  auto end = x.size();
  for (; count > 0 && !spent.failed(); --count) {
    auto found = npos;
    for (auto at = end; at >= separator.size() && at > 0; --at) {
      spent.touch(separator.size());
      if (spent.failed())
        break;
      if (x.bytes().substr(at - separator.size(), separator.size()) ==
          separator) {
        found = at - separator.size();
        break;
      }
    }
    if (found == npos || !out.add(found + separator.size(), end))
      break;
    end = found;
  }
  out.add(0, end);
  return out.take_reversed();
}

std::vector<value> split_words(const marked_text& x, size_t count,
                               budget& spent) {
  auto bytes = x.bytes();
  piece_list out{x, spent};
  auto skip = [&](size_t at, bool over_spaces) {
    while (at < bytes.size() &&
           is_space(character_at(bytes, at)) == over_spaces)
      at += character_bytes(bytes[at]);
    return at;
  };
  for (auto at = skip(0, true); at < bytes.size();) {
    auto end = count > 0 ? skip(at, false) : bytes.size();
    if (!out.add(at, end) || count == 0)
      break;
    --count;
    at = skip(end, true);
  }
  return out.take();
}

std::vector<value> split_words_right(const marked_text& x, size_t count,
                                     budget& spent) {
  auto bytes = x.bytes();
  piece_list out{x, spent};
  auto skip = [&](size_t end, bool over_spaces) {
    while (end > 0 && is_space(character_at(
                        bytes, previous_character(bytes, end))) == over_spaces)
      end = previous_character(bytes, end);
    return end;
  };
  for (auto end = skip(bytes.size(), true); end > 0;) {
    auto begin = count > 0 ? skip(end, false) : size_t{0};
    if (!out.add(begin, end) || count == 0)
      break;
    --count;
    end = skip(begin, true);
  }
  return out.take_reversed();
}

std::vector<value> split_lines(const marked_text& x, line_ends ends,
                               budget& spent) {
  auto bytes = x.bytes();
  piece_list out{x, spent};
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    auto point = character_at(bytes, at);
    auto next = at + character_bytes(bytes[at]);
    auto is_end = (point >= 0x0A && point <= 0x0D) ||
                  (point >= 0x1C && point <= 0x1E) || point == 0x85 ||
                  point == 0x2028 || point == 0x2029;
    if (!is_end) {
      at = next;
      continue;
    }
    if (point == '\r' && next < bytes.size() && bytes[next] == '\n')
      ++next;
    if (!out.add(begin, ends == line_ends::keep ? next : at))
      return out.take();
    begin = at = next;
  }
  if (begin < bytes.size())
    out.add(begin, bytes.size());
  return out.take();
}

} // namespace troupe::jinja
