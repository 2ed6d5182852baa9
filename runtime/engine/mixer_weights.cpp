#include "runtime/engine/mixer_weights.hpp"

#include "runtime/assert.hpp"

namespace troupe {

namespace {

/// Rows [first, first + count) of `x`.
stored_matrix rows_of(const stored_matrix& x, uint64_t first, uint64_t count) {
  stored_matrix out;
  out.rows = count;
  out.cols = x.cols;
  out.values =
    copy_matrix(x.values, {first * x.cols, x.cols, 1}, count, x.cols);
  return out;
}

/// The same, with rows and columns exchanged.
stored_matrix transposed_rows_of(const stored_matrix& x, uint64_t first,
                                 uint64_t count) {
  stored_matrix out;
  out.rows = x.cols;
  out.cols = count;
  out.values =
    copy_matrix(x.values, {first * x.cols, 1, x.cols}, x.cols, count);
  return out;
}

/// Blocks of rows, put one after the other.
class row_gatherer {
public:
  row_gatherer(const stored_matrix& source, uint64_t rows) : source_(source) {
    out_.rows = rows;
    out_.cols = source.cols;
    out_.values = make_host_tensor(source.values.dtype, {rows, source.cols});
  }

  void add(uint64_t first, uint64_t count) {
    const auto row_bytes = source_.values.bytes / source_.rows;
    TROUPE_ASSERT(first + count <= source_.rows && next_ + count <= out_.rows);
    std::copy_n(source_.values.data.get() + first * row_bytes,
                count * row_bytes, out_.values.data.get() + next_ * row_bytes);
    next_ += count;
  }

  const stored_matrix& finish() const {
    TROUPE_ASSERT(next_ == out_.rows);
    return out_;
  }

private:
  const stored_matrix& source_;
  stored_matrix out_;
  uint64_t next_ = 0;
};

/// q_proj has, head by head, the rows of the query and of its gate.
void load_gated_query(weight_loader& from, gqa_weights& out) {
  from.derive({&out.q, &out.gate}, [&] {
    const auto& x = from.config().attention;
    const auto both = from.read("q_proj");
    if (!both)
      return;
    row_gatherer query{*both, x.q_size()};
    row_gatherer gate{*both, x.q_size()};
    for (uint64_t head = 0; head < x.heads; ++head) {
      query.add(2 * head * x.head_dim, x.head_dim);
      gate.add((2 * head + 1) * x.head_dim, x.head_dim);
    }
    from.pack(out.q, query.finish());
    from.pack(out.gate, gate.finish());
  });
}

void load_gqa(weight_loader& from, const layer_recipe& layer,
              gqa_weights& out) {
  const auto& x = from.config().attention;
  if (x.gate == output_gate::in_query)
    load_gated_query(from, out);
  else
    from.load(out.q, "q_proj");
  from.load(out.k, "k_proj");
  from.load(out.v, "v_proj");
  from.load(out.o, "o_proj");
  if (x.gate == output_gate::separate)
    from.load(out.gate, "attention_gate");
  if (x.qkv_bias) {
    from.load(out.q_bias, "q_bias");
    from.load(out.k_bias, "k_bias");
    from.load(out.v_bias, "v_bias");
  }
  if (x.output_bias)
    from.load(out.o_bias, "o_bias");
  if (x.sinks)
    from.load(out.sinks, "sinks");
  const bool skipped = x.qk_norm.rope_layers_only && !layer.rope;
  if (x.qk_norm.kind == qk_norm_kind::none || !x.qk_norm.weighted || skipped)
    return;
  from.load_norm(out.q_norm, "q_norm");
  from.load_norm(out.k_norm, "k_norm");
}

/// kv_b_proj makes, head by head, the key's rows and the value's rows from the
/// latent. Absorbed into the query, the key's part is needed transposed.
void load_latent_heads(weight_loader& from, mla_weights& out) {
  const auto& config = from.config();
  const auto& mla = config.mla;
  out.key_up.resize(config.attention.heads);
  out.value_up.resize(config.attention.heads);
  std::vector<kernels::packed_weight*> all;
  for (uint64_t head = 0; head < config.attention.heads; ++head)
    all.insert(all.end(), {&out.key_up[head], &out.value_up[head]});
  from.derive(all, [&] {
    const auto both = from.read("kv_b_proj");
    if (!both)
      return;
    for (uint64_t head = 0; head < config.attention.heads; ++head) {
      const auto first = head * (mla.nope_dim + mla.value_dim);
      from.pack(out.key_up[head],
                transposed_rows_of(*both, first, mla.nope_dim));
      from.pack(out.value_up[head],
                rows_of(*both, first + mla.nope_dim, mla.value_dim));
    }
  });
}

void load_mla(weight_loader& from, mla_weights& out) {
  const auto& config = from.config();
  if (config.mla.q_lora_rank == 0) {
    from.load(out.q, "q_proj");
  } else {
    from.load(out.q_a, "q_a_proj");
    from.load_norm(out.q_a_norm, "q_a_norm");
    from.load(out.q_b, "q_b_proj");
  }
  from.load(out.kv_a, "kv_a_proj");
  from.load_norm(out.kv_a_norm, "kv_a_norm");
  load_latent_heads(from, out);
  from.load(out.o, "o_proj");
  if (config.attention.qkv_bias) {
    if (config.mla.q_lora_rank != 0)
      from.load(out.q_a_bias, "q_a_bias");
    from.load(out.kv_a_bias, "kv_a_bias");
  }
  if (config.attention.output_bias)
    from.load(out.o_bias, "o_bias");
}

/// [channels, 1, taps] to [taps, channels].
void load_taps(weight_loader& from, std::vector<float>& out,
               std::string_view role) {
  std::vector<float> stored;
  const auto taps = role == "conv_weight" ? from.config().short_conv.kernel
                                          : from.config().gated_delta.kernel;
  from.load(stored, role);
  const size_t channels = stored.size() / taps;
  out.resize(stored.size());
  for (size_t channel = 0; channel < channels; ++channel)
    for (size_t tap = 0; tap < taps; ++tap)
      out[tap * channels + channel] = stored[channel * taps + tap];
}

void load_short_conv(weight_loader& from, short_conv_weights& out) {
  from.load(out.in, "conv_in");
  load_taps(from, out.kernel, "conv_weight");
  from.load(out.out, "conv_out");
  if (!from.config().short_conv.bias)
    return;
  from.load(out.in_bias, "conv_in_bias");
  from.load(out.kernel_bias, "conv_bias");
  from.load(out.out_bias, "conv_out_bias");
}

/// For each key head the checkpoint has the rows of its q, its k, and of v and
/// z of the value heads that share it.
void load_qkvz(weight_loader& from, gated_delta_weights& out) {
  from.derive({&out.qkvz}, [&] {
    const auto& x = from.config().gated_delta;
    const auto stored = from.read("delta_qkvz");
    if (!stored)
      return;
    const uint64_t shared = x.value_heads / x.key_heads * x.value_dim;
    const uint64_t group = 2 * (x.key_dim + shared);
    row_gatherer all{*stored, stored->rows};
    const auto add = [&](uint64_t begin, uint64_t count) {
      for (uint64_t head = 0; head < x.key_heads; ++head)
        all.add(head * group + begin, count);
    };
    add(0, x.key_dim);
    add(x.key_dim, x.key_dim);
    add(2 * uint64_t{x.key_dim}, shared);
    add(2 * uint64_t{x.key_dim} + shared, shared);
    from.pack(out.qkvz, all.finish());
  });
}

/// The same with b and a.
void load_ba(weight_loader& from, gated_delta_weights& out) {
  from.derive({&out.ba}, [&] {
    const auto& x = from.config().gated_delta;
    const auto stored = from.read("delta_ba");
    if (!stored)
      return;
    const uint64_t shared = x.value_heads / x.key_heads;
    row_gatherer all{*stored, stored->rows};
    for (uint64_t part = 0; part < 2; ++part)
      for (uint64_t head = 0; head < x.key_heads; ++head)
        all.add((2 * head + part) * shared, shared);
    from.pack(out.ba, all.finish());
  });
}

void load_gated_delta(weight_loader& from, gated_delta_weights& out) {
  load_qkvz(from, out);
  load_ba(from, out);
  load_taps(from, out.kernel, "delta_conv");
  from.load(out.a_log, "delta_a_log");
  from.load(out.dt_bias, "delta_dt_bias");
  // Not one of the norms whose weights are stored less 1.
  from.load(out.norm, "delta_norm");
  from.load(out.out, "delta_out");
}

} // namespace

void load_mixer(weight_loader& from, const layer_recipe& layer,
                layer_weights& out) {
  switch (layer.mixer) {
  case mixer_kind::gqa:
    return load_gqa(from, layer, out.mixer.emplace<gqa_weights>());
  case mixer_kind::mla:
    return load_mla(from, out.mixer.emplace<mla_weights>());
  case mixer_kind::short_conv:
    return load_short_conv(from, out.mixer.emplace<short_conv_weights>());
  case mixer_kind::gated_delta:
    return load_gated_delta(from, out.mixer.emplace<gated_delta_weights>());
  }
}

} // namespace troupe
