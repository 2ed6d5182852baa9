#include "runtime/model/tensor_map.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/tensor_roles.hpp"

#include <fmt/ranges.h>
#include <set>

namespace troupe {

namespace {

constexpr size_t faults_shown_max = 10;

constexpr std::string_view expert_roles[]{"expert_gate", "expert_up",
                                          "expert_down"};

uint64_t size_named(std::string_view name, const model_config& x) {
  if (name == "hidden_size")
    return x.hidden_size;
  if (name == "vocab_size")
    return x.vocab_size;
  if (name == "q_size")
    return x.attention.q_size();
  if (name == "kv_size")
    return x.attention.kv_size();
  if (name == "head_dim")
    return x.attention.head_dim;
  if (name == "heads")
    return x.attention.heads;
  if (name == "kv_heads")
    return x.attention.kv_heads;
  if (name == "num_experts")
    return x.router.num_experts;
  if (name == "expert_size")
    return x.ffn.expert_size;
  if (name == "dense_size")
    return x.ffn.dense_size;
  TROUPE_ASSERT(!"a family file names a size that is not in size_names");
}

void replace(std::string& text, std::string_view part, uint32_t number) {
  auto at = text.find(part);
  if (at != std::string::npos)
    text.replace(at, part.size(), fmt::format("{}", number));
}

std::string full_name(std::string pattern, layer_index layer,
                      expert_id expert) {
  replace(pattern, "{layer}", layer.value);
  replace(pattern, "{expert}", expert.value);
  return pattern;
}

/// The roles one layer consists of, in the order they are used.
std::vector<std::string_view> roles_of(const model_config& config,
                                       const layer_recipe& layer) {
  std::vector<std::string_view> roles{"attention_norm", "q_proj", "k_proj",
                                      "v_proj"};
  auto& attention = config.attention;
  if (attention.qkv_bias)
    roles.insert(roles.end(), {"q_bias", "k_bias", "v_bias"});
  if (attention.qk_norm.kind != qk_norm_kind::none)
    roles.insert(roles.end(), {"q_norm", "k_norm"});
  roles.push_back("o_proj");
  if (attention.output_bias)
    roles.push_back("o_bias");
  roles.push_back("ffn_norm");
  if (layer.ffn == ffn_kind::moe)
    roles.push_back("router");
  else
    roles.insert(roles.end(), {"dense_gate", "dense_up", "dense_down"});
  return roles;
}

result<required_tensor> require(const model_config& config,
                                const model_family& family,
                                std::string_view role, layer_index layer = {},
                                expert_id expert = {}) {
  auto entry = family.tensors.find(std::string{role});
  if (entry == family.tensors.end())
    return fail(ec::invalid_argument,
                "{}: tensors.{}: missing; this model's config.json asks for it",
                family.source, role);
  required_tensor x;
  x.role = role;
  x.name = full_name(entry->second.name, layer, expert);
  for (auto& size : entry->second.shape)
    x.shape.push_back(size_named(size, config));
  return x;
}

/// '*' stands for any text, the empty one too.
bool matches(std::string_view pattern, std::string_view text) {
  auto star = pattern.find('*');
  if (star == std::string_view::npos)
    return pattern == text;
  if (text.substr(0, star) != pattern.substr(0, star))
    return false;
  auto rest = pattern.substr(star + 1);
  for (size_t i = star; i <= text.size(); ++i)
    if (matches(rest, text.substr(i)))
      return true;
  return false;
}

/// Compares what is needed with what is there, and remembers each difference.
class comparison {
public:
  comparison(const model_config& config, const model_family& family,
             const checkpoint& files)
    : files_(files), ignored_(family.ignored_tensors) {
    // Exporters disagree whether a tied output head is stored too; it is the
    // embedding in any case.
    auto head = family.tensors.find("lm_head");
    if (config.tied_embeddings && head != family.tensors.end())
      ignored_.push_back(head->second.name);
  }

  void check(const required_tensor& needed) {
    needed_.insert(needed.name);
    auto* found = files_.find(needed.name);
    if (!found) {
      add(missing_, needed.name);
      return;
    }
    if (found->shape != needed.shape)
      add(different_,
          fmt::format("{}: {}: expected shape [{}], found {}",
                      files_.file_of(needed.name), needed.name,
                      fmt::join(needed.shape, ", "), describe(*found)));
    else if (found->dtype != kernels::dtype::bf16 &&
             found->dtype != kernels::dtype::f32)
      add(different_, fmt::format("{}: {}: expected BF16 or F32, found {}",
                                  files_.file_of(needed.name), needed.name,
                                  describe(*found)));
  }

  result<void> finish() {
    for (auto& name : files_.names())
      if (needed_.count(name) == 0 && !is_ignored(name))
        add(left_over_, name);
    if (missing_.count + different_.count + left_over_.count == 0)
      return {};
    return fail(ec::shape_mismatch,
                "{}: the tensors do not fit config.json:{}{}{}",
                files_.folder(), text("missing", missing_),
                text("of another shape or type", different_),
                text("left over", left_over_));
  }

private:
  struct group {
    std::vector<std::string> shown;
    size_t count = 0;
  };

  static void add(group& x, std::string text) {
    ++x.count;
    if (x.shown.size() < faults_shown_max)
      x.shown.push_back(std::move(text));
  }

  static std::string text(std::string_view what, const group& x) {
    if (x.count == 0)
      return {};
    return fmt::format("\n{} {}: {}{}", x.count, what, fmt::join(x.shown, "; "),
                       x.count > x.shown.size() ? "; ..." : "");
  }

  bool is_ignored(const std::string& name) const {
    for (auto& pattern : ignored_)
      if (matches(pattern, name))
        return true;
    return false;
  }

  const checkpoint& files_;
  std::vector<std::string> ignored_;
  std::set<std::string, std::less<>> needed_;
  group missing_;
  group different_;
  group left_over_;
};

} // namespace

result<std::vector<required_tensor>>
backbone_tensors(const model_config& config, const model_family& family) {
  std::vector<required_tensor> result;
  error failed;
  auto add = [&](std::string_view role, layer_index layer = {}) {
    auto x = require(config, family, role, layer);
    if (x)
      result.push_back(std::move(*x));
    else
      failed = std::move(x).error();
    return x.has_value();
  };
  bool good = add("embedding");
  for (uint32_t i = 0; good && i < config.num_layers; ++i)
    for (auto role : roles_of(config, config.layers[i]))
      good = good && add(role, layer_index{i});
  good = good && add("final_norm");
  if (good && !config.tied_embeddings)
    good = add("lm_head");
  if (!good)
    return tl::unexpected(std::move(failed));
  return result;
}

result<std::vector<required_tensor>> expert_tensors(const model_config& config,
                                                    const model_family& family,
                                                    layer_index layer,
                                                    expert_id expert) {
  TROUPE_ASSERT(layer.value < config.num_layers);
  TROUPE_ASSERT(config.layers[layer.value].ffn == ffn_kind::moe);
  TROUPE_ASSERT(expert.value < config.router.num_experts);
  std::vector<required_tensor> result;
  for (auto role : expert_roles) {
    auto x = require(config, family, role, layer, expert);
    if (!x)
      return tl::unexpected(std::move(x).error());
    result.push_back(std::move(*x));
  }
  return result;
}

result<tensor_map> tensor_map::bind(const model_config& config,
                                    const model_family& family,
                                    const checkpoint& files) {
  auto backbone = backbone_tensors(config, family);
  if (!backbone)
    return tl::unexpected(std::move(backbone).error());
  comparison compare{config, family, files};
  for (auto& x : *backbone)
    compare.check(x);
  for (uint32_t i = 0; i < config.num_layers; ++i) {
    if (config.layers[i].ffn != ffn_kind::moe)
      continue;
    for (uint32_t e = 0; e < config.router.num_experts; ++e) {
      auto experts =
        expert_tensors(config, family, layer_index{i}, expert_id{e});
      if (!experts)
        return tl::unexpected(std::move(experts).error());
      for (auto& x : *experts)
        compare.check(x);
    }
  }
  if (auto finished = compare.finish(); !finished)
    return tl::unexpected(std::move(finished).error());
  return tensor_map{config, family};
}

tensor_map::tensor_map(const model_config& config, const model_family& family) {
  auto add = [&](std::string key, std::string_view role, layer_index layer) {
    auto& pattern = family.tensors.at(std::string{role}).name;
    names_.emplace(std::move(key), full_name(pattern, layer, {}));
  };
  add("embedding", "embedding", {});
  add("final_norm", "final_norm", {});
  add("lm_head", config.tied_embeddings ? "embedding" : "lm_head", {});
  for (uint32_t i = 0; i < config.num_layers; ++i)
    for (auto role : roles_of(config, config.layers[i]))
      add(fmt::format("{}/{}", role, i), role, layer_index{i});
  for (auto role : expert_roles)
    if (auto x = family.tensors.find(std::string{role});
        x != family.tensors.end())
      expert_patterns_.emplace(role, x->second.name);
}

const std::string& tensor_map::name(std::string_view role) const {
  auto i = names_.find(role);
  TROUPE_ASSERT(i != names_.end());
  return i->second;
}

const std::string& tensor_map::name(std::string_view role,
                                    layer_index layer) const {
  return name(fmt::format("{}/{}", role, layer.value));
}

std::string tensor_map::name(std::string_view role, layer_index layer,
                             expert_id expert) const {
  auto i = expert_patterns_.find(role);
  TROUPE_ASSERT(i != expert_patterns_.end());
  return full_name(i->second, layer, expert);
}

std::vector<const tensor_info*>
tensor_map::backbone(const checkpoint& files) const {
  // A tied output head shares its name with the embedding.
  std::set<std::string_view> seen;
  std::vector<const tensor_info*> result;
  for (auto& [key, name] : names_)
    if (seen.insert(name).second)
      result.push_back(files.find(name));
  return result;
}

} // namespace troupe
