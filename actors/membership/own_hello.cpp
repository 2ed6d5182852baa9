#include "actors/membership/own_hello.hpp"

#include "kernels/numeric_fingerprint.hpp"
#include "runtime/version.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace troupe {

namespace {

/// A digest in hexadecimal as bytes.
std::array<uint8_t, 32> digest_bytes(const std::string& hex) {
  std::array<uint8_t, 32> result{};
  for (size_t i = 0; i < result.size() && 2 * i + 2 <= hex.size(); ++i)
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, result[i], 16);
  return result;
}

} // namespace

hello own_hello(const opened_model& model, const hello_facts& facts,
                kernels::lanes& lanes) {
  size_t hidden = model.config.hidden_size;
  size_t expert = model.config.ffn.expert_size;
  kernels::probe_shape shapes[]{{expert, hidden}, {hidden, expert}};
  hello x;
  x.program_version = version_text;
  x.endianness = native_endianness();
  x.model_digest = digest_bytes(model.digest);
  auto folder = std::filesystem::path(model.folder).lexically_normal();
  x.model_name = folder.has_filename()
                   ? folder.filename().string()
                   : folder.parent_path().filename().string();
  x.model_name.resize(std::min<size_t>(x.model_name.size(), 256));
  x.numeric_fingerprint =
    kernels::numeric_fingerprint(shapes, facts.compute, lanes);
  x.numeric_mode = std::string{kernels::to_string(facts.compute.mode)};
  x.incarnation = facts.incarnation;
  x.node_name = facts.name;
  x.capacity = {facts.memory_bytes, static_cast<uint32_t>(lanes.count())};
  return x;
}

} // namespace troupe
