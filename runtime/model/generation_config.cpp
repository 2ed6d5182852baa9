#include "runtime/model/generation_config.hpp"

#include "runtime/model/model_file.hpp"
#include "runtime/model/strict_json.hpp"

namespace troupe {

namespace {

using nlohmann::json;

constexpr size_t file_bytes_max = 4 << 20;
constexpr size_t eos_ids_max = 64;
constexpr double temperature_max = 100.0;
constexpr uint32_t top_k_max = 1u << 24;

/// Reads members of one object; the first fault is kept.
class member_reader {
public:
  member_reader(const json& root, std::string name, uint32_t vocab_size)
    : root_(root), name_(std::move(name)), vocab_size_(vocab_size) {
    // nop
  }

  /// nullptr when absent or null.
  const json* find(const char* key) const {
    auto x = root_.find(key);
    return x == root_.end() || x->is_null() ? nullptr : &*x;
  }

  std::optional<token_id> id(const char* key, const json& x) {
    if (x.is_number_unsigned() && x.get<uint64_t>() < vocab_size_)
      return static_cast<token_id>(x.get<uint64_t>());
    refuse(key, fmt::format("a token id below {}", vocab_size_), x);
    return std::nullopt;
  }

  void read_ids(const char* key, std::vector<token_id>& out) {
    auto* x = find(key);
    if (!x)
      return;
    out.clear();
    if (!x->is_array()) {
      if (auto value = id(key, *x))
        out.push_back(*value);
      return;
    }
    if (x->size() > eos_ids_max)
      refuse(key, fmt::format("at most {} ids", eos_ids_max), json(x->size()));
    for (auto& item : *x)
      if (auto value = id(key, item))
        out.push_back(*value);
  }

  void read(const char* key, std::optional<token_id>& out) {
    if (auto* x = find(key))
      out = id(key, *x);
  }

  void read(const char* key, bool& out) {
    auto* x = find(key);
    if (!x)
      return;
    if (x->is_boolean())
      out = x->get<bool>();
    else
      refuse(key, "true or false", *x);
  }

  void read(const char* key, double& out, double min, double max) {
    auto* x = find(key);
    if (!x)
      return;
    auto value = x->is_number() ? x->get<double>() : -1.0;
    if (value >= min && value <= max)
      out = value;
    else
      refuse(key, fmt::format("a number from {} to {}", min, max), *x);
  }

  void read(const char* key, uint32_t& out, uint32_t max) {
    auto* x = find(key);
    if (!x)
      return;
    if (x->is_number_unsigned() && x->get<uint64_t>() <= max)
      out = static_cast<uint32_t>(x->get<uint64_t>());
    else
      refuse(key, fmt::format("a whole number from 0 to {}", max), *x);
  }

  const std::optional<error>& failed() const {
    return failed_;
  }

private:
  void refuse(const char* key, std::string_view expected, const json& found) {
    if (!failed_)
      failed_ = error{ec::invalid_argument,
                      fmt::format("{}: {}: expected {}, found {}", name_, key,
                                  expected, describe(found))};
  }

  const json& root_;
  std::string name_;
  uint32_t vocab_size_;
  std::optional<error> failed_;
};

void read_ids(member_reader& reader, generation_config& x) {
  reader.read_ids("eos_token_id", x.eos_ids);
  reader.read("bos_token_id", x.bos_id);
}

void read_sampling(member_reader& reader, generation_config& x) {
  reader.read("do_sample", x.do_sample);
  reader.read("temperature", x.temperature, 0.0, temperature_max);
  reader.read("top_k", x.top_k, top_k_max);
  // Smaller than any probability of interest, but not 0: something is kept.
  reader.read("top_p", x.top_p, 1e-9, 1.0);
  reader.read("min_p", x.min_p, 0.0, 1.0);
}

result<json> parse_object(std::string_view text, const std::string& name) {
  auto root = parse_json(text, name);
  if (root && !root->is_object())
    return fail(ec::bad_format, "{}: expected an object, found {}", name,
                describe(*root));
  return root;
}

} // namespace

result<generation_config> read_generation_config(const std::string& folder,
                                                 uint32_t vocab_size) {
  auto config = read_json_text(folder + "/config.json", file_bytes_max);
  if (!config)
    return tl::unexpected(std::move(config).error());
  auto generation =
    read_json_text(folder + "/generation_config.json", file_bytes_max);
  if (!generation && generation.error().code != ec::not_found)
    return tl::unexpected(std::move(generation).error());
  return parse_generation_config(generation ? *generation : "", *config, folder,
                                 vocab_size);
}

result<generation_config>
parse_generation_config(std::string_view generation_json,
                        std::string_view config_json, const std::string& folder,
                        uint32_t vocab_size) {
  generation_config x;
  auto read = [&](std::string_view text, const char* file,
                  auto... parts) -> result<void> {
    auto name = fmt::format("{}/{}", folder, file);
    auto root = parse_object(text, name);
    if (!root)
      return tl::unexpected(std::move(root).error());
    member_reader reader{*root, name, vocab_size};
    (parts(reader, x), ...);
    if (reader.failed())
      return tl::unexpected(*reader.failed());
    return {};
  };
  // What generation_config.json says wins, so it is read last.
  if (auto done = read(config_json, "config.json", read_ids); !done)
    return tl::unexpected(done.error());
  if (generation_json.empty())
    return x;
  if (auto done = read(generation_json, "generation_config.json", read_ids,
                       read_sampling);
      !done)
    return tl::unexpected(done.error());
  return x;
}

} // namespace troupe
