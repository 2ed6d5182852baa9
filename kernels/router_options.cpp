// The conditions under which every row finds `top_k` experts.
#include "kernels/router_options.hpp"

#include <string_view>

namespace troupe::kernels {

namespace {

result<void> check_groups(const router_options& options, size_t experts) {
  const auto& groups = options.groups;
  if (groups.count == 0 || experts % groups.count != 0)
    return fail(ec::invalid_argument,
                "router: {} experts cannot be cut into {} equal groups",
                experts, groups.count);
  const size_t size = experts / groups.count;
  if (groups.kept == 0 || groups.kept > groups.count)
    return fail(ec::invalid_argument,
                "router: {} of {} groups are to be kept; expected 1 to {}",
                groups.kept, groups.count, groups.count);
  if (groups.kept * size < options.top_k)
    return fail(ec::invalid_argument,
                "router: {} kept groups of {} experts are fewer than the {} "
                "experts of a row",
                groups.kept, size, options.top_k);
  if (groups.count > 1 && groups.score == group_score::sum_of_two && size < 2)
    return fail(ec::invalid_argument,
                "router: the two best of a group count, but {} groups of {} "
                "experts hold one each",
                groups.count, experts);
  return {};
}

result<void> check_bias(std::string_view name, std::span<const float> bias,
                        size_t experts) {
  if (bias.empty() || bias.size() == experts)
    return {};
  return fail(ec::invalid_argument,
              "router: the {} has {} values; expected one for each of the {} "
              "experts",
              name, bias.size(), experts);
}

} // namespace

result<void> check_router(const router_options& options, size_t experts) {
  if (options.top_k == 0 || options.top_k > experts)
    return fail(ec::invalid_argument,
                "router: {} experts for a row; expected 1 to {}", options.top_k,
                experts);
  if (!(options.epsilon >= 0.0f) || !(options.jitter >= 0.0f))
    return fail(ec::invalid_argument,
                "router: epsilon {} and jitter {}; expected 0 or more",
                options.epsilon, options.jitter);
  if (auto ok = check_groups(options, experts); !ok)
    return ok;
  if (auto ok = check_bias("logit bias", options.logit_bias, experts); !ok)
    return ok;
  return check_bias("selection bias", options.selection_bias, experts);
}

} // namespace troupe::kernels
