// The router of a recipe.
#include "runtime/model/config_sections.hpp"

namespace troupe {

namespace {

constexpr double factor_max = 1e6;

/// Older configs name the way experts are chosen: with or without groups.
bool uses_groups(config_keys& keys) {
  auto method = keys.optional_text("router_method");
  if (!method || *method == "group_limited_greedy")
    return true;
  if (*method != "greedy")
    keys.refuse(ec::unsupported, "router_method",
                fmt::format("expected \"greedy\" or \"group_limited_greedy\", "
                            "found \"{}\", which is not built",
                            *method));
  return false;
}

void read_groups(config_keys& keys, kernels::router_groups& groups) {
  auto count = keys.optional_whole("group_count", 1, experts_max);
  auto kept = keys.optional_whole("groups_kept", 1, experts_max);
  if (!uses_groups(keys) || !count)
    return;
  groups.count = *count;
  groups.kept = kept.value_or(*count);
}

} // namespace

void read_router(config_keys& keys, model_config& x) {
  auto& router = x.router;
  router.num_experts = keys.whole("num_experts", 1, experts_max);
  router.top_k = keys.whole("top_k", 1, experts_max);
  router.normalize = keys.boolean("normalize", false)
                       ? kernels::router_normalize::sum_to_one
                       : kernels::router_normalize::no;
  router.epsilon =
    keys.optional_real("router_epsilon", 0.0, 1.0).value_or(router.epsilon);
  router.scale =
    keys.optional_real("router_scale", 0.0, factor_max).value_or(1.0);
  router.jitter = keys.optional_real("router_jitter", 0.0, 1.0).value_or(0.0);
  router.selection_bias = keys.boolean("selection_bias", false);
  read_groups(keys, router.groups);
  if (!keys.good())
    return;
  if (router.top_k > router.num_experts) {
    keys.refuse(ec::invalid_argument, "top_k",
                fmt::format("expected at most the {} experts, found {}",
                            router.num_experts, router.top_k));
    return;
  }
  auto checked = check_router(kernels_options(router), router.num_experts);
  if (!checked)
    keys.refuse(checked.error().code, "num_experts", checked.error().message);
}

kernels::router_options kernels_options(const router_config& x) {
  kernels::router_options out;
  out.top_k = x.top_k;
  out.score = x.score;
  out.normalize = x.normalize;
  out.scale = static_cast<float>(x.scale);
  out.epsilon = static_cast<float>(x.epsilon);
  out.epsilon_use = x.epsilon_use;
  out.groups = x.groups;
  out.jitter = static_cast<float>(x.jitter);
  return out;
}

} // namespace troupe
