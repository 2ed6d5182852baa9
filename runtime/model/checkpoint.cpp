#include "runtime/model/checkpoint.hpp"

#include "runtime/model/fault_list.hpp"
#include "runtime/model/name_groups.hpp"

#include <algorithm>
#include <filesystem>
#include <new>
#include <set>

namespace troupe {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view single_name = "model.safetensors";
constexpr std::string_view index_name = "model.safetensors.index.json";
constexpr size_t shards_max = 4096;
constexpr size_t kinds_shown_max = 4;
/// Entries of a folder that are looked at.
constexpr size_t entries_max = 10'000;

/// Names in `folder` that end with one of `endings`, sorted.
std::vector<std::string>
names_ending(const std::string& folder,
             std::initializer_list<std::string_view> endings) {
  std::vector<std::string> out;
  std::error_code failed;
  fs::directory_iterator i{folder, failed};
  for (size_t n = 0;
       !failed && i != fs::directory_iterator{} && n < entries_max;
       i.increment(failed), ++n) {
    auto name = i->path().filename().string();
    if (std::any_of(endings.begin(), endings.end(),
                    [&](auto x) { return name.ends_with(x); }))
      out.push_back(std::move(name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// A dangling link is there too: it has its own message.
bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

/// What a folder without weights has instead.
std::string instead(const std::string& folder) {
  auto shards = names_ending(folder, {".safetensors"});
  if (!shards.empty())
    return fmt::format("; {} is there without the index that says what is in "
                       "it: download {} too",
                       list_names(shards, kinds_shown_max), index_name);
  auto other = names_ending(
    folder, {".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack"});
  if (!other.empty())
    return fmt::format("; {} is of another format: download or convert the "
                       "weights as safetensors",
                       list_names(other, kinds_shown_max));
  return unfinished_download(fmt::format("{}/{}", folder, single_name));
}

/// The files that could be opened, by name; faults of the others. All that are
/// missing are one fault.
std::map<std::string, safetensors_file>
open_shards(const std::string& folder, const std::set<std::string>& names,
            fault_list& faults) {
  std::map<std::string, safetensors_file> out;
  std::vector<std::string> missing;
  for (auto& name : names) {
    auto path = fmt::format("{}/{}", folder, name);
    if (!is_there(path)) {
      missing.push_back(name);
      continue;
    }
    auto file = safetensors_file::open(path);
    if (file)
      out.emplace(name, std::move(*file));
    else
      faults.add(std::move(file).error());
  }
  if (!missing.empty())
    faults.add(
      {ec::not_found,
       fmt::format(
         "{}: {} of the {} files that {} lists are missing: {}{}", folder,
         missing.size(), names.size(), index_name, list_names(missing, 20),
         unfinished_download(fmt::format("{}/{}", folder, missing.front())))});
  return out;
}

} // namespace

result<void> check_is_folder(const std::string& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored))
    return {};
  return fail(ec::not_found,
              "{}: expected a model folder with config.json and {}, found {}",
              folder, single_name, is_there(folder) ? "a file" : "nothing");
}

result<checkpoint> checkpoint::open(const std::string& folder) {
  if (auto ok = check_is_folder(folder); !ok)
    return tl::unexpected(std::move(ok).error());
  auto index = fmt::format("{}/{}", folder, index_name);
  result<checkpoint> x = fail(ec::internal, "not opened");
  if (is_there(index)) {
    auto read = read_checkpoint_index(index);
    if (!read)
      return tl::unexpected(std::move(read).error());
    x = open_sharded(folder, *read);
  } else {
    x = open_single(folder);
  }
  if (x) {
    x->warn_of_unused_tensors();
    x->warn_of_unused_files();
  }
  return x;
}

result<checkpoint> checkpoint::open_single(const std::string& folder) {
  auto path = fmt::format("{}/{}", folder, single_name);
  if (!is_there(path))
    return fail(ec::not_found, "{}: expected {} or {}, found neither{}", folder,
                single_name, index_name, instead(folder));
  auto file = safetensors_file::open(path);
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
                                            const checkpoint_index& index) {
  std::set<std::string> names;
  for (auto& [tensor, name] : index.files)
    names.insert(name);
  if (names.size() > shards_max)
    return fail(ec::bad_format, "{}/{}: expected at most {} files, found {}",
                folder, index_name, shards_max, names.size());
  fault_list faults;
  auto opened = open_shards(folder, names, faults);
  checkpoint x;
  x.folder_ = folder;
  std::map<std::string_view, size_t> places;
  for (auto& [name, file] : opened) {
    places.emplace(name, x.files_.size());
    x.files_.push_back(std::move(file));
  }
  std::map<size_t, std::vector<std::string>> absent;
  for (auto& [tensor, name] : index.files) {
    auto place = places.find(name);
    if (place == places.end())
      continue;
    if (auto* info = x.files_[place->second].find(tensor))
      x.tensors_.emplace(tensor, location{place->second, info});
    else
      absent[place->second].push_back(tensor);
  }
  for (auto& [place, tensors] : absent)
    faults.add(
      {ec::bad_format,
       fmt::format("{}: {} {} not in it, though {} says so",
                   x.files_[place].path(),
                   tensors.size() == 1
                     ? "tensor " + tensors.front()
                     : fmt::format("{} tensors: {}", tensors.size(),
                                   list_names(tensors, kinds_shown_max)),
                   tensors.size() == 1 ? "is" : "are", index_name)});
  if (!faults.empty())
    return tl::unexpected(
      faults.as_error(fmt::format("{}: {}", folder, index_name)));
  if (index.total_bytes && *index.total_bytes != x.tensor_bytes())
    x.warnings_.push_back(fmt::format(
      "{}/{}: metadata.total_size is {}, but the tensors have {} bytes; are "
      "index and files of one version of the model?",
      folder, index_name, *index.total_bytes, x.tensor_bytes()));
  return x;
}

/// A file may hold copies of what the index takes from another file.
void checkpoint::warn_of_unused_tensors() {
  for (size_t i = 0; i < files_.size(); ++i) {
    std::vector<std::string> unused;
    for (auto& [name, info] : files_[i].tensors()) {
      auto used = tensors_.find(name);
      if (used == tensors_.end() || used->second.file != i)
        unused.push_back(name);
    }
    if (!unused.empty())
      warnings_.push_back(fmt::format(
        "{}: ignored {} that {} takes from other files or does not list: {}",
        files_[i].path(),
        unused.size() == 1 ? "1 tensor"
                           : fmt::format("{} tensors", unused.size()),
        index_name, list_names(unused, kinds_shown_max)));
  }
}

void checkpoint::warn_of_unused_files() {
  std::set<std::string> used;
  for (auto& file : files_)
    used.insert(fs::path(file.path()).filename().string());
  auto unused = names_ending(folder_, {".safetensors"});
  // Other weights may lie there by right, such as an adapter's.
  std::erase_if(unused, [&](auto& x) {
    return used.count(x) > 0 ||
           !(x.starts_with("model") || x.find("-of-") != std::string::npos);
  });
  if (!unused.empty())
    warnings_.push_back(fmt::format(
      "{}: ignored {}: {}", folder_, list_names(unused, kinds_shown_max),
      is_there(fmt::format("{}/{}", folder_, index_name))
        ? fmt::format("{} does not list it", index_name)
        : fmt::format("{} is the model", single_name)));
  auto leftovers = names_ending(folder_, {".incomplete"});
  if (!leftovers.empty())
    warnings_.push_back(
      fmt::format("{}: {}: left over from a download that did not end; no "
                  "file needs it",
                  folder_, list_names(leftovers, kinds_shown_max)));
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
