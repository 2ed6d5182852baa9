#include "runtime/model/checkpoint.hpp"

#include "config/text_file.hpp"
#include "runtime/model/strict_json.hpp"

#include <filesystem>
#include <fmt/ranges.h>
#include <new>

namespace troupe {

namespace {

constexpr std::string_view single_name = "model.safetensors";
constexpr std::string_view index_name = "model.safetensors.index.json";
constexpr size_t index_bytes_max = 64 << 20;
constexpr size_t shards_max = 4096;
constexpr size_t faults_shown_max = 10;

/// Tensor -> file, as the index says.
using weight_map = std::map<std::string, std::string, std::less<>>;

/// A shard lies beside its index; anything with a path in it would reach
/// outside of the folder.
bool is_plain_name(std::string_view x) {
  return !x.empty() && x.find('/') == std::string_view::npos &&
         x.front() != '.' && x.ends_with(".safetensors");
}

result<weight_map> read_index(const std::string& path) {
  auto text = read_text_file(path, index_bytes_max);
  if (!text)
    return tl::unexpected(std::move(text).error());
  auto root = parse_json(*text, path);
  if (!root)
    return tl::unexpected(std::move(root).error());
  auto refuse = [&](std::string_view what, const nlohmann::json& found) {
    return fail(ec::bad_format, "{}: expected {}, found {}", path, what,
                describe(found));
  };
  if (!root->is_object())
    return refuse("an object", *root);
  auto map = root->find("weight_map");
  if (map == root->end() || !map->is_object())
    return refuse("an object weight_map",
                  map == root->end() ? nlohmann::json{} : *map);
  weight_map result;
  for (auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>()))
      return refuse(
        fmt::format("the name of a .safetensors file for {}", tensor), file);
    result.emplace(tensor, file.get<std::string>());
  }
  if (result.empty())
    return refuse("at least one tensor in weight_map", *map);
  return result;
}

/// Faults of an index, so that all of them can be told at once.
struct fault_list {
  ec code = ec::bad_format;
  std::vector<std::string> texts;
  size_t count = 0;

  void add(ec kind, std::string text) {
    if (count++ == 0)
      code = kind;
    if (texts.size() < faults_shown_max)
      texts.push_back(std::move(text));
  }

  tl::unexpected<error> as_error(const std::string& folder) const {
    auto more = count > texts.size()
                  ? fmt::format("\nand {} more", count - texts.size())
                  : "";
    return fail(code, "{}: {} problems with the files of {}:\n{}{}", folder,
                count, index_name, fmt::join(texts, "\n"), more);
  }
};

} // namespace

result<checkpoint> checkpoint::open(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    return fail(ec::not_found,
                "{}: expected a model folder with config.json and {}", folder,
                single_name);
  auto index = fmt::format("{}/{}", folder, index_name);
  if (fs::exists(index, ignored))
    return open_sharded(folder, index);
  auto single = fmt::format("{}/{}", folder, single_name);
  if (!fs::exists(single, ignored))
    return fail(ec::not_found, "{}: expected {} or {}, found neither", folder,
                single_name, index_name);
  auto file = safetensors_file::open(single);
  if (!file)
    return tl::unexpected(std::move(file).error());
  checkpoint x;
  x.folder_ = folder;
  x.files_.push_back(std::move(*file));
  for (auto& [name, info] : x.files_.front().tensors())
    x.tensors_.emplace(name, location{0, &info});
  return x;
}

result<checkpoint> checkpoint::open_sharded(const std::string& folder,
                                            const std::string& index) {
  auto map = read_index(index);
  if (!map)
    return tl::unexpected(std::move(map).error());
  checkpoint x;
  x.folder_ = folder;
  fault_list faults;
  // File name -> place in `files_`; nullopt if it could not be opened.
  std::map<std::string, std::optional<size_t>> shards;
  for (auto& [tensor, name] : *map)
    shards.emplace(name, std::nullopt);
  if (shards.size() > shards_max)
    return fail(ec::bad_format, "{}: expected at most {} files, found {}",
                index, shards_max, shards.size());
  for (auto& [name, place] : shards) {
    auto file = safetensors_file::open(fmt::format("{}/{}", folder, name));
    if (!file) {
      faults.add(file.error().code, file.error().message);
      continue;
    }
    place = x.files_.size();
    x.files_.push_back(std::move(*file));
  }
  for (auto& [tensor, name] : *map) {
    auto place = shards.at(name);
    if (!place)
      continue;
    auto* info = x.files_[*place].find(tensor);
    if (info)
      x.tensors_.emplace(tensor, location{*place, info});
    else
      faults.add(ec::bad_format, fmt::format("{}/{}: tensor {} is not in it",
                                             folder, name, tensor));
  }
  if (faults.count > 0)
    return faults.as_error(folder);
  return x;
}

std::vector<std::string> checkpoint::names() const {
  std::vector<std::string> result;
  result.reserve(tensors_.size());
  for (auto& [name, place] : tensors_)
    result.push_back(name);
  return result;
}

const tensor_info* checkpoint::find(std::string_view name) const {
  auto i = tensors_.find(name);
  return i == tensors_.end() ? nullptr : i->second.info;
}

std::string checkpoint::file_of(std::string_view name) const {
  auto i = tensors_.find(name);
  return i == tensors_.end() ? "" : files_[i->second.file].path();
}

result<host_tensor> checkpoint::load(std::string_view name) const {
  auto* info = find(name);
  if (!info)
    return fail(ec::not_found, "{}: no tensor {}", folder_, name);
  host_tensor x;
  x.dtype = info->dtype;
  x.shape = info->shape;
  x.bytes = info->bytes;
  try {
    x.data = std::make_unique_for_overwrite<std::byte[]>(x.bytes);
  } catch (const std::bad_alloc&) {
    return fail(ec::out_of_memory, "{}: tensor {} needs {} bytes", folder_,
                name, x.bytes);
  }
  auto done = read(name, 0, {x.data.get(), x.bytes});
  if (!done)
    return tl::unexpected(std::move(done).error());
  return x;
}

result<void> checkpoint::read(std::string_view name, uint64_t begin,
                              std::span<std::byte> out) const {
  auto i = tensors_.find(name);
  if (i == tensors_.end())
    return fail(ec::not_found, "{}: no tensor {}", folder_, name);
  auto& [file, info] = i->second;
  if (begin > info->bytes || out.size() > info->bytes - begin)
    return fail(ec::invalid_argument,
                "{}: tensor {} has {} bytes; asked for {} at {}", folder_, name,
                info->bytes, out.size(), begin);
  return files_[file].read(*info, begin, out);
}

std::string checkpoint::stamp() const {
  std::string text;
  for (auto& file : files_)
    text += file.stamp() + "\n";
  return text;
}

uint64_t checkpoint::tensor_bytes() const {
  uint64_t sum = 0;
  for (auto& [name, place] : tensors_)
    sum += place.info->bytes;
  return sum;
}

uint64_t checkpoint::bytes_read() const {
  uint64_t sum = 0;
  for (auto& file : files_)
    sum += file.bytes_read();
  return sum;
}

} // namespace troupe
