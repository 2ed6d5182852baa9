// Placement policies and their text form.
#include "runtime/placement/policies.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace troupe {

namespace {

constexpr std::string_view weighted_prefix = "weighted:";

/// Experts per slot by largest remainder. The sum of the result is `experts`.
std::vector<uint32_t> shares_of(std::span<const double> weights,
                                uint32_t experts) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<uint32_t> counts;
  std::vector<double> remainders;
  for (double w : weights) {
    const double exact = w / total * experts;
    counts.push_back(static_cast<uint32_t>(std::floor(exact)));
    remainders.push_back(exact - std::floor(exact));
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return remainders[a] > remainders[b];
  });
  auto given = std::accumulate(counts.begin(), counts.end(), uint32_t{0});
  for (size_t i = 0; given < experts; i = (i + 1) % order.size()) {
    if (weights[order[i]] > 0) {
      ++counts[order[i]];
      ++given;
    }
  }
  return counts;
}

result<double> parse_weight(std::string_view text) {
  double out = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, out);
  if (code != std::errc{} || stop != end || !std::isfinite(out) || out < 0)
    return fail(ec::invalid_argument,
                "placement: expected a weight >= 0, found \"{}\"", text);
  return out;
}

result<placement_spec> parse_weights(std::string_view text) {
  placement_spec out{placement_spec::policy::weighted, {}};
  for (;;) {
    const auto comma = text.find(',');
    auto weight = parse_weight(text.substr(0, comma));
    if (!weight)
      return tl::unexpected{weight.error()};
    out.weights.push_back(*weight);
    if (comma == std::string_view::npos)
      break;
    text.remove_prefix(comma + 1);
  }
  const double total =
    std::accumulate(out.weights.begin(), out.weights.end(), 0.0);
  if (total <= 0 || !std::isfinite(total))
    return fail(ec::invalid_argument,
                "placement: the weights add up to {}; at least one must be "
                "positive",
                total);
  return out;
}

std::vector<node_id> owners(const placement_spec& spec,
                            std::span<const node_id> slots, uint32_t experts) {
  if (slots.empty() || spec.kind == placement_spec::policy::local)
    return std::vector<node_id>(experts, local_node);
  if (spec.kind == placement_spec::policy::weighted)
    return place_weighted(slots, spec.weights, experts);
  return place_round_robin(slots, experts);
}

} // namespace

std::vector<node_id> place_round_robin(std::span<const node_id> slots,
                                       uint32_t experts) {
  std::vector<node_id> out(experts, local_node);
  for (size_t e = 0; e < out.size() && !slots.empty(); ++e)
    out[e] = slots[e % slots.size()];
  return out;
}

std::vector<node_id> place_weighted(std::span<const node_id> slots,
                                    std::span<const double> weights,
                                    uint32_t experts) {
  TROUPE_ASSERT(slots.size() == weights.size() && !slots.empty());
  const auto counts = shares_of(weights, experts);
  std::vector<node_id> out;
  out.reserve(experts);
  for (size_t i = 0; i < slots.size(); ++i)
    out.insert(out.end(), counts[i], slots[i]);
  return out;
}

result<placement_spec> parse_placement(std::string_view text) {
  if (text == "round_robin")
    return placement_spec{placement_spec::policy::round_robin, {}};
  if (text == "local")
    return placement_spec{placement_spec::policy::local, {}};
  if (text.substr(0, weighted_prefix.size()) == weighted_prefix)
    return parse_weights(text.substr(weighted_prefix.size()));
  return fail(ec::invalid_argument,
              "placement: expected \"round_robin\", \"local\" or "
              "\"weighted:1,2\" (a weight per node), found \"{}\"",
              text);
}

std::string to_string(const placement_spec& spec) {
  switch (spec.kind) {
  case placement_spec::policy::round_robin:
    return "round_robin";
  case placement_spec::policy::local:
    return "local";
  case placement_spec::policy::weighted:
    break;
  }
  std::string out{weighted_prefix};
  for (size_t i = 0; i < spec.weights.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ",", spec.weights[i]);
  return out;
}

result<shard_map> make_shard_map(const placement_spec& spec,
                                 std::span<const node_id> slots,
                                 std::vector<layer_index> layers,
                                 uint32_t experts, uint64_t version) {
  if (spec.kind == placement_spec::policy::weighted && !slots.empty() &&
      spec.weights.size() != slots.size())
    return fail(ec::invalid_argument,
                "placement: \"{}\" has {} weights, expected one for each of "
                "the {} nodes",
                to_string(spec), spec.weights.size(), slots.size());
  std::vector<replica_list> replicas;
  replicas.reserve(layers.size() * experts);
  const auto owner = owners(spec, slots, experts);
  for (size_t i = 0; i < layers.size(); ++i)
    for (auto node : owner)
      replicas.push_back({node});
  return shard_map::make(version, std::move(layers), experts, replicas);
}

} // namespace troupe
