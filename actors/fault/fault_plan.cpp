#include "actors/fault/fault_plan.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace troupe {

namespace {

constexpr std::string_view grammar =
  "expected kill:NODE@token=N, stop:NODE@prefill=CHUNK, kill:*@layer=L, "
  "slow:NODE=20us or route:EXPERT=+4";

template <class T>
std::optional<T> number(std::string_view text) {
  T x{};
  auto [end, failure] =
    std::from_chars(text.data(), text.data() + text.size(), x);
  if (failure != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return x;
}

/// Splits at the first `at`; the second part is empty when there is none.
std::pair<std::string_view, std::string_view> split(std::string_view text,
                                                    char at) {
  auto i = text.find(at);
  if (i == std::string_view::npos)
    return {text, {}};
  return {text.substr(0, i), text.substr(i + 1)};
}

std::optional<fault_trigger> parse_trigger(std::string_view text) {
  auto [name, value] = split(text, '=');
  auto n = number<uint32_t>(value);
  if (!n)
    return std::nullopt;
  using point = fault_trigger::point;
  if (name == "token")
    return fault_trigger{point::token, *n};
  if (name == "prefill")
    return fault_trigger{point::prefill, *n};
  if (name == "layer")
    return fault_trigger{point::layer, *n};
  return std::nullopt;
}

std::optional<duration> parse_time(std::string_view text) {
  struct unit {
    std::string_view name;
    int64_t ns;
  };
  static constexpr unit units[]{
    {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
  // The longest number of digits still fits: 18 digits of nanoseconds.
  auto digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || digits > 9)
    return std::nullopt;
  auto n = number<int64_t>(text.substr(0, digits));
  for (auto& unit : units)
    if (n && text.substr(digits) == unit.name)
      return std::chrono::nanoseconds(*n * unit.ns);
  return std::nullopt;
}

bool parse_one(std::string_view text, fault_spec& out) {
  auto [kind, rest] = split(text, ':');
  if (kind == "kill" || kind == "stop") {
    auto [node, when] = split(rest, '@');
    auto trigger = parse_trigger(when);
    if (node.empty() || !trigger)
      return false;
    auto what = kind == "kill" ? process_fault::kill : process_fault::stop;
    out.orders.push_back({what, std::string{node}, *trigger});
    return true;
  }
  auto [name, value] = split(rest, '=');
  if (kind == "slow") {
    auto time = parse_time(value);
    if (name.empty() || !time)
      return false;
    out.slow[std::string{name}] = *time;
    return true;
  }
  if (kind == "route") {
    if (value.starts_with('+'))
      value.remove_prefix(1);
    auto expert = number<uint32_t>(name);
    auto bias = number<float>(value);
    if (!expert || !bias)
      return false;
    out.score_bias[*expert] = *bias;
    return true;
  }
  return false;
}

} // namespace

result<fault_spec> parse_faults(const std::vector<std::string>& specs) {
  fault_spec result;
  for (auto& text : specs)
    if (!parse_one(text, result))
      return fail(ec::invalid_argument, "--fault {}: {}", text, grammar);
  return result;
}

fault_plan::fault_plan(std::vector<node_fault_order> orders)
  : orders_(std::move(orders)) {
  // nop
}

std::vector<node_fault_order> fault_plan::due(fault_trigger now) {
  std::vector<node_fault_order> result;
  auto fired = std::stable_partition(orders_.begin(), orders_.end(),
                                     [&](auto& x) { return x.when != now; });
  result.assign(fired, orders_.end());
  orders_.erase(fired, orders_.end());
  return result;
}

} // namespace troupe
