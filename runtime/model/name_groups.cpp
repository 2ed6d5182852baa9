#include "runtime/model/name_groups.hpp"

#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>

namespace troupe {

namespace {

constexpr size_t ranges_max = 6;
constexpr size_t digits_max = 18; // fits 64 bits

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// A name as text pieces with numbers between them: one more piece than
/// numbers.
struct split_name {
  std::vector<std::string> pieces{""};
  std::vector<std::string> numbers;
};

split_name split(std::string_view name) {
  split_name out;
  for (size_t i = 0; i < name.size();) {
    auto end = i;
    while (end < name.size() && is_digit(name[end]))
      ++end;
    bool alone = end > i && end - i <= digits_max &&
                 (i == 0 || !is_letter(name[i - 1])) &&
                 (end == name.size() || !is_letter(name[end]));
    if (alone) {
      out.numbers.emplace_back(name.substr(i, end - i));
      out.pieces.emplace_back();
    } else {
      if (end == i)
        ++end;
      out.pieces.back() += name.substr(i, end - i);
    }
    i = end;
  }
  return out;
}

struct by_value {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::pair{value(a), a.size()} < std::pair{value(b), b.size()};
  }

  static uint64_t value(const std::string& x) {
    uint64_t out = 0;
    std::from_chars(x.data(), x.data() + x.size(), out);
    return out;
  }
};

using number_set = std::set<std::string, by_value>;

/// "7", "{0-47}", "{1,3-5}".
std::string ranges(const number_set& numbers) {
  if (numbers.size() == 1)
    return *numbers.begin();
  std::string out;
  size_t count = 0;
  for (auto i = numbers.begin(); i != numbers.end();) {
    if (count++ == ranges_max)
      return fmt::format("{{{},...}}", out);
    auto last = i;
    auto next = std::next(i);
    while (next != numbers.end() &&
           by_value::value(*next) == by_value::value(*last) + 1)
      last = next++;
    out += (out.empty() ? "" : ",") + *i;
    if (last != i)
      out += (std::next(i) == last ? "," : "-") + *last;
    i = next;
  }
  return fmt::format("{{{}}}", out);
}

struct group {
  std::vector<std::string> pieces;
  std::vector<number_set> numbers;
  size_t count = 0;
};

} // namespace

std::string name_shape(std::string_view name) {
  std::string out;
  for (auto& piece : split(name).pieces)
    out.append(piece).push_back('\0');
  return out;
}

std::vector<name_group> group_names(std::span<const std::string> names) {
  std::vector<group> groups;
  std::map<std::vector<std::string>, size_t> places;
  for (auto& name : names) {
    auto parts = split(name);
    auto [at, fresh] = places.emplace(parts.pieces, groups.size());
    if (fresh)
      groups.push_back(
        {parts.pieces, std::vector<number_set>(parts.numbers.size()), 0});
    auto& x = groups[at->second];
    for (size_t i = 0; i < parts.numbers.size(); ++i)
      x.numbers[i].insert(parts.numbers[i]);
    ++x.count;
  }
  std::vector<name_group> out;
  for (auto& x : groups) {
    auto pattern = x.pieces.front();
    for (size_t i = 0; i < x.numbers.size(); ++i)
      pattern += ranges(x.numbers[i]) + x.pieces[i + 1];
    out.push_back({std::move(pattern), x.count});
  }
  return out;
}

std::string list_names(std::span<const std::string> names, size_t kinds_max) {
  auto groups = group_names(names);
  std::string out;
  for (size_t i = 0; i < groups.size() && i < kinds_max; ++i) {
    out += (i == 0 ? "" : ", ") + groups[i].pattern;
    if (groups[i].count > 1)
      out += fmt::format(" ({})", groups[i].count);
  }
  if (groups.size() > kinds_max)
    out += fmt::format(" and {} more kinds", groups.size() - kinds_max);
  return out;
}

} // namespace troupe
