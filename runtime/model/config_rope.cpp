// RoPE in config.json: rope_theta and rope_scaling side by side, or all in
// rope_parameters; the kind as "type" or "rope_type".
#include "runtime/model/config_sections.hpp"

#include <cmath>

namespace troupe {

namespace {

using kernels::rope_scaling;
using kernels::rope_scaling_kind;
using nlohmann::json;

constexpr double factor_max = 1e6;
constexpr size_t factors_max = head_dim_max / 2;

/// Reads members of the scaling object; a fault is told under its path.
class scaling_reader {
public:
  scaling_reader(config_keys& keys, const json& object)
    : keys_(keys), object_(object) {
    // nop
  }

  const json* find(const char* member) const {
    auto x = object_.find(member);
    return x == object_.end() || x->is_null() ? nullptr : &*x;
  }

  template <class T>
  void read(const char* member, T& out) {
    auto* x = find(member);
    if (!x)
      return;
    if (!x->is_number() || !(x->get<double>() >= 0) ||
        !(x->get<double>() <= factor_max)) {
      refuse(ec::invalid_argument, member,
             fmt::format("expected a number from 0 to {}, found {}", factor_max,
                         describe(*x)));
      return;
    }
    out = x->get<double>();
  }

  void read(const char* member, bool& out) {
    auto* x = find(member);
    if (x && x->is_boolean())
      out = x->get<bool>();
    else if (x)
      refuse(ec::invalid_argument, member,
             fmt::format("expected true or false, found {}", describe(*x)));
  }

  void read(const char* member, std::vector<double>& out) {
    auto* x = find(member);
    if (!x)
      return;
    bool fits = x->is_array() && x->size() <= factors_max;
    for (size_t i = 0; fits && i < x->size(); ++i) {
      fits = (*x)[i].is_number();
      if (fits)
        out.push_back((*x)[i].get<double>());
    }
    if (!fits)
      refuse(ec::invalid_argument, member,
             fmt::format("expected a list of at most {} numbers", factors_max));
  }

  void refuse(ec code, const char* member, std::string_view what) {
    keys_.refuse(code, "rope_scaling", fmt::format("{}: {}", member, what));
  }

private:
  config_keys& keys_;
  const json& object_;
};

/// The kind's name; "default" where there is none and nothing to scale by.
std::string kind_name(scaling_reader& from) {
  std::string name;
  for (auto* member : {"rope_type", "type"}) {
    auto* x = from.find(member);
    if (!x)
      continue;
    if (!x->is_string()) {
      from.refuse(ec::bad_format, member,
                  fmt::format("expected a string, found {}", describe(*x)));
      return "default";
    }
    auto text = x->get<std::string>();
    if (!name.empty() && text != name)
      from.refuse(ec::invalid_argument, member,
                  fmt::format("is \"{}\", but rope_type, which means the same, "
                              "is \"{}\"",
                              text, name));
    name = text;
  }
  if (name.empty())
    return from.find("factor") ? "without a type" : "default";
  return name;
}

/// NTK scaling by a constant is another theta and nothing else. (Without one,
/// theta grows with the text: a key's angle would depend on what comes later.)
void apply_alpha(scaling_reader& from, rope_config& rope) {
  double alpha = 0;
  from.read("alpha", alpha);
  double dims = rope.rotary_dim;
  if (alpha > 0 && dims > 2) {
    rope.theta *= std::pow(alpha, dims / (dims - 2));
    return;
  }
  from.refuse(ec::unsupported, "type",
              "\"dynamic\" is built with a positive \"alpha\" only");
}

struct scaling_name {
  std::string_view name;
  rope_scaling_kind kind;
};

constexpr scaling_name scaling_kinds[]{
  {"default", rope_scaling_kind::none},
  {"linear", rope_scaling_kind::linear},
  {"llama3", rope_scaling_kind::llama3},
  {"yarn", rope_scaling_kind::yarn},
  {"longrope", rope_scaling_kind::longrope},
  {"su", rope_scaling_kind::longrope}};

/// Sets the kind; false if nothing more is to be read.
bool read_kind(scaling_reader& from, rope_config& rope) {
  auto name = kind_name(from);
  if (name == "dynamic") {
    apply_alpha(from, rope);
    return false;
  }
  for (auto& x : scaling_kinds)
    if (x.name == name) {
      rope.scaling.kind = x.kind;
      return x.kind != rope_scaling_kind::none;
    }
  from.refuse(
    ec::unsupported, "type",
    fmt::format("expected default, linear, llama3, yarn, longrope, or "
                "dynamic with alpha, found {}, which is not built",
                name));
  return false;
}

void read_factors(scaling_reader& from, rope_scaling& x) {
  from.read("factor", x.factor);
  from.read("low_freq_factor", x.low_freq_factor);
  from.read("high_freq_factor", x.high_freq_factor);
  from.read("beta_fast", x.beta_fast);
  from.read("beta_slow", x.beta_slow);
  from.read("truncate", x.truncate);
  from.read("mscale", x.mscale);
  from.read("mscale_all_dim", x.mscale_all_dim);
  from.read("attention_factor", x.attention_factor);
  from.read("short_factor", x.short_factors);
  from.read("long_factor", x.long_factors);
  from.read("short_mscale", x.short_mscale);
  from.read("long_mscale", x.long_mscale);
}

void read_scaling(config_keys& keys, model_config& x) {
  auto* object = keys.find("rope_scaling");
  if (!object)
    return;
  if (!object->is_object()) {
    keys.refuse(ec::bad_format, "rope_scaling",
                fmt::format("expected an object, found {}", describe(*object)));
    return;
  }
  scaling_reader from{keys, *object};
  auto& rope = x.attention.rope;
  if (!read_kind(from, rope))
    return;
  auto& scaling = rope.scaling;
  read_factors(from, scaling);
  scaling.max_positions = x.max_positions;
  // The object's own number, one beside it, or what the model promises.
  double original = keys.optional_whole("original_positions", 1, positions_max)
                      .value_or(x.max_positions);
  from.read("original_max_position_embeddings", original);
  scaling.original_positions = static_cast<size_t>(original);
  if (!keys.good())
    return;
  auto checked =
    kernels::check_rope_scaling(scaling, rope.theta, rope.rotary_dim);
  if (!checked)
    keys.refuse(checked.error().code, "rope_scaling", checked.error().message);
}

/// How many dimensions of a head of `dims` turn.
void read_rotary_dim(config_keys& keys, uint32_t dims, rope_config& rope) {
  auto factor =
    keys.optional_real("partial_rotary_factor", 0.0, 1.0).value_or(1.0);
  auto part = static_cast<uint32_t>(std::floor(factor * dims));
  rope.rotary_dim =
    keys.optional_whole("rotary_dim", 1, head_dim_max).value_or(part);
  if (keys.good() && (rope.rotary_dim == 0 || rope.rotary_dim % 2 != 0 ||
                      rope.rotary_dim > dims))
    keys.refuse(ec::invalid_argument, "head_dim",
                fmt::format("expected an even number of rotating dimensions "
                            "per head, at most {}, found {}",
                            dims, rope.rotary_dim));
}

} // namespace

void read_rope(config_keys& keys, model_config& x) {
  auto& rope = x.attention.rope;
  rope.theta = keys.real("rope_theta", 1.0, 1e12);
  auto interleaved = rope.pairs == kernels::rope_pairs::interleaved;
  rope.pairs = keys.boolean("rope_interleaved", interleaved)
                 ? kernels::rope_pairs::interleaved
                 : kernels::rope_pairs::half_split;
  auto dims = x.mla.rope_dim != 0 ? x.mla.rope_dim : x.attention.head_dim;
  read_rotary_dim(keys, dims, rope);
  read_scaling(keys, x);
}

} // namespace troupe
