#include "runtime/model/tensor_map.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/required_tensors.hpp"
#include "runtime/model/tensor_report.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>
#include <optional>
#include <set>

namespace troupe {

namespace {

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

/// The same, where "{beyond}" stands for the number of a layer that the recipe
/// does not have: checkpoints keep layers for other uses behind the others.
bool matches_beyond(std::string_view pattern, std::string_view text,
                    uint64_t num_layers) {
  constexpr std::string_view marker = "{beyond}";
  auto at = pattern.find(marker);
  if (at == std::string_view::npos)
    return matches(pattern, text);
  if (text.substr(0, at) != pattern.substr(0, at))
    return false;
  uint64_t layer = 0;
  auto* begin = text.data() + at;
  auto [end, code] = std::from_chars(begin, text.data() + text.size(), layer);
  if (code != std::errc{} || layer < num_layers)
    return false;
  return matches(pattern.substr(at + marker.size()),
                 text.substr(static_cast<size_t>(end - text.data())));
}

bool is_float(kernels::dtype x) {
  return x == kernels::dtype::bf16 || x == kernels::dtype::f16 ||
         x == kernels::dtype::f32;
}

bool fits(stored_as expected, const tensor_info& x) {
  if (!x.foreign_type.empty())
    return false;
  auto found = x.dtype;
  bool fp8 = found == kernels::dtype::f8_e4m3;
  switch (expected) {
  case stored_as::floats:
    return is_float(found);
  case stored_as::any:
    return is_float(found) || fp8;
  case stored_as::fp8:
    return fp8;
  case stored_as::scales:
    return is_float(found) || found == kernels::dtype::f8_e8m0;
  case stored_as::raw_bytes:
    return found == kernels::dtype::u8;
  }
  return false;
}

std::string_view describe(stored_as x) {
  switch (x) {
  case stored_as::floats:
    return "BF16, F16 or F32";
  case stored_as::any:
    return "BF16, F16, F32 or F8_E4M3";
  case stored_as::fp8:
    return "F8_E4M3";
  case stored_as::scales:
    return "BF16, F16, F32 or F8_E8M0";
  case stored_as::raw_bytes:
    return "U8";
  }
  return "";
}

/// Whether a shape's size stands alone, as in "hidden_size".
bool is_plain_size(std::string_view x) {
  return std::all_of(x.begin(), x.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

/// Compares what is needed with what is there, and reports each difference.
class comparison {
public:
  comparison(const model_config& config, const model_family& family,
             const checkpoint& files)
    : config_(config), family_(family), files_(files),
      ignored_(family.ignored_tensors) {
    // Exporters disagree whether a tied output head is stored too; it is the
    // embedding in any case.
    auto head = family.tensors.find("lm_head");
    if (config.tied_embeddings && head != family.tensors.end())
      ignored_.push_back(head->second.name);
  }

  void check(const required_tensor& needed) {
    auto* found = compare(needed);
    if (found && found->dtype == kernels::dtype::f8_e4m3)
      check_scale(needed);
  }

  result<void> finish() {
    for (auto& name : files_.names()) {
      if (needed_.count(name) == 0) {
        if (is_ignored(name))
          continue;
        report_.left_over(name);
      }
      if (auto layer = layer_of(name))
        report_.found_layer(*layer);
    }
    if (report_.good())
      return {};
    return tl::unexpected(
      report_.as_error(files_.folder(), config_.num_layers, names_in_config()));
  }

private:
  const tensor_info* compare(const required_tensor& needed) {
    needed_.insert(needed.name);
    auto* found = files_.find(needed.name);
    if (!found) {
      report_.missing(needed.name);
      return nullptr;
    }
    compare_sizes(needed, *found);
    misfit_tensor misfit{needed.name, files_.file_of(needed.name), "",
                         troupe::describe(*found)};
    if (found->shape != needed.shape)
      misfit.expected =
        fmt::format("shape [{}]", fmt::join(needed.shape, ", "));
    else if (!fits(needed.type, *found))
      misfit.expected = describe(needed.type);
    if (!misfit.expected.empty())
      report_.misfit(std::move(misfit));
    return found;
  }

  /// Each dimension whose size has a name of its own.
  void compare_sizes(const required_tensor& needed, const tensor_info& found) {
    auto pattern = family_.tensors.find(needed.role);
    if (pattern == family_.tensors.end())
      return;
    auto& sizes = pattern->second.shape;
    if (found.shape.size() != sizes.size() ||
        needed.shape.size() != sizes.size())
      return;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (is_plain_size(sizes[i]))
        report_.compare_size(sizes[i], needed.shape[i], found.shape[i]);
  }

  /// The number behind "model.layers." or what the family calls it.
  std::optional<uint64_t> layer_of(std::string_view name) const {
    for (auto& [role, pattern] : family_.tensors) {
      auto at = pattern.name.find("{layer}");
      if (at == std::string::npos)
        continue;
      auto prefix = config_.tensor_prefix + pattern.name.substr(0, at);
      if (!name.starts_with(prefix))
        return std::nullopt;
      name.remove_prefix(prefix.size());
      uint64_t layer = 0;
      auto [end, code] =
        std::from_chars(name.data(), name.data() + name.size(), layer);
      return code == std::errc{} ? std::optional{layer} : std::nullopt;
    }
    return std::nullopt;
  }

  /// What config.json calls our sizes.
  tensor_report::size_names names_in_config() const {
    tensor_report::size_names out;
    for (auto& [ours, theirs] : family_.keys)
      if (!theirs.empty())
        out.emplace(ours, fmt::format("{}", fmt::join(theirs, " or ")));
    return out;
  }

  void check_scale(const required_tensor& needed) {
    required_tensor scale;
    scale.name = scale_name(needed.name);
    scale.type = stored_as::scales;
    for (auto size : needed.shape)
      scale.shape.push_back((size + kernels::fp8_block_size - 1) /
                            kernels::fp8_block_size);
    compare(scale);
  }

  bool is_ignored(const std::string& name) const {
    // A pattern of the text model's tensors stands behind the prefix.
    auto& prefix = config_.tensor_prefix;
    std::string_view inner = name;
    if (inner.substr(0, prefix.size()) == prefix)
      inner.remove_prefix(prefix.size());
    for (auto& pattern : ignored_)
      if (matches_beyond(pattern, name, config_.num_layers) ||
          matches_beyond(pattern, inner, config_.num_layers))
        return true;
    return false;
  }

  const model_config& config_;
  const model_family& family_;
  const checkpoint& files_;
  std::vector<std::string> ignored_;
  std::set<std::string, std::less<>> needed_;
  tensor_report report_;
};

} // namespace

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
    auto experts = expert_tensors(config, family, layer_index{i});
    if (!experts)
      return tl::unexpected(std::move(experts).error());
    for (auto& x : *experts)
      compare.check(x);
  }
  if (auto finished = compare.finish(); !finished)
    return tl::unexpected(std::move(finished).error());
  return tensor_map{config, family};
}

tensor_map::tensor_map(const model_config& config, const model_family& family) {
  auto add = [&](std::string key, std::string_view role, layer_index layer) {
    auto& pattern = family.tensors.at(std::string{role}).name;
    names_.emplace(std::move(key),
                   config.tensor_prefix + full_name(pattern, layer));
  };
  add("embedding", "embedding", {});
  add("final_norm", "final_norm", {});
  if (config.norm.kind == norm_kind::layer)
    add("final_norm_bias", "final_norm_bias", {});
  add("lm_head", config.tied_embeddings ? "embedding" : "lm_head", {});
  if (config.head_bias)
    add("lm_head_bias", "lm_head_bias", {});
  for (uint32_t i = 0; i < config.num_layers; ++i)
    for (auto role : layer_roles(config, config.layers[i]))
      add(fmt::format("{}/{}", role, i), role, layer_index{i});
  if (config.moe_layers() == 0)
    return;
  for (auto role : expert_roles(config.ffn.experts))
    expert_patterns_.emplace(role, config.tensor_prefix +
                                     family.tensors.at(std::string{role}).name);
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
  for (auto& [key, name] : names_) {
    if (!seen.insert(name).second)
      continue;
    result.push_back(files.find(name));
    if (auto* scale = files.find(scale_name(name)))
      result.push_back(scale);
  }
  return result;
}

} // namespace troupe
