#include "runtime/model/checkpoint_index.hpp"

#include "runtime/model/fault_list.hpp"
#include "runtime/model/model_file.hpp"
#include "runtime/model/strict_json.hpp"

#include <algorithm>

namespace troupe {

namespace {

using nlohmann::json;

constexpr size_t index_bytes_max = 64 << 20;
constexpr size_t name_bytes_max = 255;
constexpr std::string_view extension = ".safetensors";

/// Why `x` is not the plain name of a file beside the index; empty if it is.
std::string_view refusal(std::string_view x) {
  if (x.find('/') != std::string_view::npos ||
      x.find('\\') != std::string_view::npos)
    return "a path, which may lead out of the folder";
  if (!x.ends_with(extension) || x.size() == extension.size())
    return "another kind of file";
  if (x.front() == '.')
    return "a hidden file";
  if (x.size() > name_bytes_max)
    return "a name of more than 255 bytes";
  if (std::any_of(x.begin(), x.end(), [](unsigned char c) { return c < 0x20; }))
    return "a name with control characters";
  return {};
}

result<checkpoint_index> read_weight_map(const json& map,
                                         const std::string& path) {
  checkpoint_index out;
  fault_list faults;
  std::string last;
  for (auto& [tensor, file] : map.items()) {
    auto name = file.is_string() ? file.get<std::string>() : "";
    auto why = file.is_string() ? refusal(name) : "no text";
    if (why.empty()) {
      out.files.emplace(tensor, std::move(name));
      continue;
    }
    // Thousands of tensors of one file are one fault.
    if (auto shown = describe(file); shown != last) {
      faults.add({ec::bad_format,
                  fmt::format("{}: expected the name of a .safetensors file "
                              "for {}, found {}: {}",
                              path, describe(json(tensor)), shown, why)});
      last = std::move(shown);
    }
  }
  if (!faults.empty())
    return tl::unexpected(faults.as_error(path));
  return out;
}

} // namespace

result<checkpoint_index> read_checkpoint_index(const std::string& path) {
  auto root = read_json_file(path, index_bytes_max);
  if (!root)
    return tl::unexpected(std::move(root).error());
  auto refuse = [&](std::string_view what, const std::string& found) {
    return fail(ec::bad_format, "{}: expected {}, found {}", path, what, found);
  };
  if (!root->is_object())
    return refuse("an object", describe(*root));
  auto map = root->find("weight_map");
  if (map == root->end() || !map->is_object())
    return refuse("an object weight_map",
                  map == root->end() ? "none" : describe(*map));
  if (map->empty())
    return refuse("at least one tensor in weight_map", "none");
  auto out = read_weight_map(*map, path);
  if (!out)
    return out;
  auto metadata = root->find("metadata");
  if (metadata == root->end() || !metadata->is_object())
    return out;
  auto total = metadata->find("total_size");
  if (total != metadata->end() && total->is_number_unsigned())
    out->total_bytes = total->get<uint64_t>();
  return out;
}

} // namespace troupe
