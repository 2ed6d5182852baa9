// make_model: a random-weight model of the qwen3_moe family, for benchmarks.
// The same bf16 weights are written as a Hugging Face folder (for Troupe) and,
// when asked, as GGUF (for llama.cpp). No tokenizer: both take token ids.
#include "bench/gguf_writer.hpp"
#include "bench/random_weights.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace troupe::bench {

namespace {

struct model_sizes {
  uint32_t hidden = 2048;
  uint32_t layers = 8;
  uint32_t heads = 32;
  uint32_t kv_heads = 4;
  uint32_t head_size = 128;
  uint32_t experts = 64;
  uint32_t top_k = 8;
  uint32_t expert_size = 768;
  uint32_t dense_size = 6144; // named in config.json; no layer is dense
  uint32_t vocabulary = 32000;
  uint32_t context = 4096;
  uint64_t seed = 0;
};

/// One tensor of the folder. Random if `deviation` is positive, else ones.
struct tensor {
  std::string name;
  std::vector<std::size_t> shape; // slowest first
  float deviation = 0;

  std::size_t count() const {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                           std::multiplies<>{});
  }

  std::vector<uint16_t> values(uint64_t seed) const {
    if (deviation > 0)
      return random_bf16(seed, name, count(), deviation);
    return std::vector<uint16_t>(count(), to_bf16(1.0f));
  }
};

/// One tensor of the GGUF file: parts of the folder, one after the other.
struct gguf_tensor {
  std::string name;
  std::vector<std::size_t> shape;
  gguf_type type = gguf_type::bf16;
  std::vector<tensor> parts;
};

constexpr float deviation = 0.02f;

tensor matrix(std::string name, std::size_t rows, std::size_t columns) {
  return {std::move(name), {rows, columns}, deviation};
}

tensor ones(std::string name, std::size_t size) {
  return {std::move(name), {size}};
}

gguf_tensor same(std::string name, const tensor& x,
                 gguf_type type = gguf_type::bf16) {
  return {std::move(name), x.shape, type, {x}};
}

/// All experts' matrices of one kind, which GGUF keeps as one [experts, ...].
gguf_tensor stacked(std::string name, std::vector<tensor> parts) {
  std::vector<std::size_t> shape{parts.size()};
  shape.insert(shape.end(), parts[0].shape.begin(), parts[0].shape.end());
  return {std::move(name), std::move(shape), gguf_type::bf16, std::move(parts)};
}

std::vector<gguf_tensor> outer_tensors(const model_sizes& m) {
  return {
    same("token_embd.weight",
         matrix("model.embed_tokens.weight", m.vocabulary, m.hidden)),
    same("output.weight", matrix("lm_head.weight", m.vocabulary, m.hidden)),
    same("output_norm.weight", ones("model.norm.weight", m.hidden),
         gguf_type::f32),
  };
}

std::vector<gguf_tensor> attention_tensors(const model_sizes& m,
                                           uint32_t layer) {
  const auto theirs = fmt::format("blk.{}.", layer);
  const auto ours = fmt::format("model.layers.{}.", layer);
  const auto attention = ours + "self_attn.";
  const std::size_t q = std::size_t{m.heads} * m.head_size;
  const std::size_t kv = std::size_t{m.kv_heads} * m.head_size;
  return {
    same(theirs + "attn_q.weight",
         matrix(attention + "q_proj.weight", q, m.hidden)),
    same(theirs + "attn_k.weight",
         matrix(attention + "k_proj.weight", kv, m.hidden)),
    same(theirs + "attn_v.weight",
         matrix(attention + "v_proj.weight", kv, m.hidden)),
    same(theirs + "attn_output.weight",
         matrix(attention + "o_proj.weight", m.hidden, q)),
    same(theirs + "attn_q_norm.weight",
         ones(attention + "q_norm.weight", m.head_size), gguf_type::f32),
    same(theirs + "attn_k_norm.weight",
         ones(attention + "k_norm.weight", m.head_size), gguf_type::f32),
    same(theirs + "attn_norm.weight",
         ones(ours + "input_layernorm.weight", m.hidden), gguf_type::f32),
    same(theirs + "ffn_norm.weight",
         ones(ours + "post_attention_layernorm.weight", m.hidden),
         gguf_type::f32),
  };
}

std::vector<gguf_tensor> expert_tensors(const model_sizes& m, uint32_t layer) {
  const auto theirs = fmt::format("blk.{}.", layer);
  const auto ours = fmt::format("model.layers.{}.mlp.", layer);
  std::vector<tensor> gate, up, down;
  for (uint32_t e = 0; e < m.experts; ++e) {
    const auto expert = fmt::format("{}experts.{}.", ours, e);
    gate.push_back(
      matrix(expert + "gate_proj.weight", m.expert_size, m.hidden));
    up.push_back(matrix(expert + "up_proj.weight", m.expert_size, m.hidden));
    down.push_back(
      matrix(expert + "down_proj.weight", m.hidden, m.expert_size));
  }
  return {
    same(theirs + "ffn_gate_inp.weight",
         matrix(ours + "gate.weight", m.experts, m.hidden), gguf_type::f32),
    stacked(theirs + "ffn_gate_exps.weight", std::move(gate)),
    stacked(theirs + "ffn_up_exps.weight", std::move(up)),
    stacked(theirs + "ffn_down_exps.weight", std::move(down)),
  };
}

/// Returns the tensors by file of the folder: the outer ones, then each layer.
std::vector<std::vector<gguf_tensor>> all_tensors(const model_sizes& m) {
  std::vector<std::vector<gguf_tensor>> files{outer_tensors(m)};
  for (uint32_t layer = 0; layer < m.layers; ++layer) {
    auto& file = files.emplace_back(attention_tensors(m, layer));
    for (auto& x : expert_tensors(m, layer))
      file.push_back(std::move(x));
  }
  return files;
}

// -- the Hugging Face folder
// ---------------------------------------------------

nlohmann::json config_json(const model_sizes& m) {
  return {
    {"architectures", {"Qwen3MoeForCausalLM"}},
    {"model_type", "qwen3_moe"},
    {"hidden_size", m.hidden},
    {"num_hidden_layers", m.layers},
    {"num_attention_heads", m.heads},
    {"num_key_value_heads", m.kv_heads},
    {"head_dim", m.head_size},
    {"num_experts", m.experts},
    {"num_experts_per_tok", m.top_k},
    {"moe_intermediate_size", m.expert_size},
    {"intermediate_size", m.dense_size},
    {"norm_topk_prob", true},
    {"vocab_size", m.vocabulary},
    {"rms_norm_eps", 1e-6},
    {"rope_theta", 1e6},
    {"max_position_embeddings", m.context},
    {"tie_word_embeddings", false},
    {"hidden_act", "silu"},
    {"decoder_sparse_step", 1},
    {"mlp_only_layers", nlohmann::json::array()},
    {"torch_dtype", "bfloat16"},
    {"bos_token_id", 1},
    {"eos_token_id", 2},
  };
}

bool write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out{path, std::ios::binary};
  out << text;
  out.close();
  return !out.fail();
}

/// Writes one safetensors file: u64 header length, JSON header, then the data.
bool write_safetensors(const std::filesystem::path& path, uint64_t seed,
                       const std::vector<gguf_tensor>& tensors) {
  nlohmann::json header{{"__metadata__", {{"format", "pt"}}}};
  std::size_t offset = 0;
  for (const auto& stack : tensors)
    for (const auto& x : stack.parts) {
      const auto end = offset + 2 * x.count();
      header[x.name] = {
        {"dtype", "BF16"}, {"shape", x.shape}, {"data_offsets", {offset, end}}};
      offset = end;
    }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::ofstream out{path, std::ios::binary};
  out.write(reinterpret_cast<const char*>(&length), sizeof(length));
  out << text;
  for (const auto& stack : tensors)
    for (const auto& x : stack.parts) {
      const auto values = x.values(seed);
      out.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(2 * values.size()));
    }
  out.close();
  return !out.fail();
}

bool write_folder(const std::filesystem::path& folder, const model_sizes& m) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    return false;
  nlohmann::json weight_map;
  std::size_t bytes = 0;
  const auto files = all_tensors(m);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto name =
      fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size());
    fmt::print("{}/{}\n", folder.string(), name);
    if (!write_safetensors(folder / name, m.seed, files[i]))
      return false;
    for (const auto& stack : files[i])
      for (const auto& x : stack.parts) {
        weight_map[x.name] = name;
        bytes += 2 * x.count();
      }
  }
  const nlohmann::json index{{"metadata", {{"total_size", bytes}}},
                             {"weight_map", weight_map}};
  return write_text(folder / "model.safetensors.index.json", index.dump(1)) &&
         write_text(folder / "config.json", config_json(m).dump(1));
}

// -- GGUF
// ----------------------------------------------------------------------

void add_keys(gguf_writer& out, const model_sizes& m) {
  const auto key = [](std::string_view x) {
    return fmt::format("qwen3moe.{}", x);
  };
  out.add_key("general.architecture", std::string_view{"qwen3moe"});
  out.add_key("general.file_type", uint32_t{32}); // mostly bf16
  out.add_key(key("context_length"), m.context);
  out.add_key(key("embedding_length"), m.hidden);
  out.add_key(key("block_count"), m.layers);
  out.add_key(key("feed_forward_length"), m.dense_size);
  out.add_key(key("attention.head_count"), m.heads);
  out.add_key(key("attention.head_count_kv"), m.kv_heads);
  out.add_key(key("attention.key_length"), m.head_size);
  out.add_key(key("attention.value_length"), m.head_size);
  out.add_key(key("attention.layer_norm_rms_epsilon"), 1e-6f);
  out.add_key(key("rope.freq_base"), 1e6f);
  out.add_key(key("expert_count"), m.experts);
  out.add_key(key("expert_used_count"), m.top_k);
  out.add_key(key("expert_feed_forward_length"), m.expert_size);
  out.add_key(key("vocab_size"), m.vocabulary);
  out.add_key("tokenizer.ggml.model", std::string_view{"none"});
}

void append_values(gguf_writer& out, gguf_type type,
                   const std::vector<uint16_t>& values) {
  if (type == gguf_type::bf16)
    return out.append(std::as_bytes(std::span{values}));
  std::vector<uint32_t> wide(values.size()); // bf16 is the upper half of f32
  for (std::size_t i = 0; i < values.size(); ++i)
    wide[i] = uint32_t{values[i]} << 16;
  out.append(std::as_bytes(std::span{wide}));
}

bool write_gguf(const std::string& path, const model_sizes& m) {
  fmt::print("{}\n", path);
  gguf_writer out{path};
  add_keys(out, m);
  const auto files = all_tensors(m);
  for (const auto& file : files)
    for (const auto& x : file)
      out.add_tensor(x.name, x.shape, x.type);
  out.begin_data();
  for (const auto& file : files)
    for (const auto& x : file)
      for (const auto& part : x.parts)
        append_values(out, x.type, part.values(m.seed));
  return out.finish();
}

void add_options(CLI::App& app, model_sizes& m) {
  const auto size = [&](const char* name, uint32_t& x, const char* help) {
    app.add_option(name, x, help)
      ->capture_default_str()
      ->check(CLI::Range(1u, 1u << 20));
  };
  size("--hidden-size", m.hidden, "width of a token's row");
  size("--layers", m.layers, "layers, all sparse");
  size("--heads", m.heads, "query heads");
  size("--kv-heads", m.kv_heads, "key and value heads");
  size("--head-size", m.head_size, "width of a head");
  size("--experts", m.experts, "experts of a layer");
  size("--top-k", m.top_k, "experts that a token visits");
  size("--expert-size", m.expert_size, "inner width of an expert");
  size("--vocabulary", m.vocabulary, "token ids");
  size("--context", m.context, "longest sequence in tokens");
  app.add_option("--seed", m.seed, "of the weights")->capture_default_str();
}

} // namespace

} // namespace troupe::bench

int main(int argc, char** argv) {
  using namespace troupe::bench;
  CLI::App app{"Writes a random-weight mixture-of-experts model in bf16."};
  model_sizes sizes;
  std::string folder, gguf;
  app.add_option("FOLDER", folder, "the Hugging Face folder to write")
    ->required();
  app.add_option("--gguf", gguf, "write the same weights as this GGUF file");
  add_options(app, sizes);
  CLI11_PARSE(app, argc, argv);
  if (sizes.heads % sizes.kv_heads != 0 || sizes.top_k > sizes.experts) {
    fmt::print(stderr, "make_model: --kv-heads must divide --heads, and "
                       "--top-k be at most --experts\n");
    return 2;
  }
  if (!write_folder(folder, sizes) ||
      (!gguf.empty() && !write_gguf(gguf, sizes))) {
    fmt::print(stderr, "make_model: cannot write all of the model. Is the disk "
                       "full, or the folder not writable?\n");
    return 1;
  }
  return 0;
}
