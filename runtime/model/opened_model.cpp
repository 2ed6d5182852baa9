#include "runtime/model/opened_model.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/fault_list.hpp"
#include "runtime/model/model_digest.hpp"
#include "runtime/model/model_file.hpp"
#include "runtime/model/strict_json.hpp"

#include <filesystem>
#include <optional>

namespace troupe {

namespace {

constexpr size_t side_file_bytes_max = 64 << 20;

/// A file that the model can do without must still be what its name says.
void check_side_file(const std::string& folder, std::string_view name,
                     fault_list& faults) {
  auto path = fmt::format("{}/{}", folder, name);
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored)))
    return;
  if (auto read = read_json_file(path, side_file_bytes_max); !read)
    faults.add(std::move(read).error());
}

/// What a folder consists of, each part read as far as the others allow.
struct folder_parts {
  result<model_config> config;
  result<generation_config> generation;
  result<checkpoint> files;
  /// Absent while config or files are at fault.
  std::optional<result<tensor_map>> tensors;

  bool good() const {
    return config && generation && files && tensors && *tensors;
  }
};

folder_parts read_parts(const std::string& folder, result<model_config> config,
                        const family_catalog& families) {
  folder_parts x{std::move(config), {}, checkpoint::open(folder), {}};
  if (!x.config)
    return x;
  x.generation = read_generation_config(folder, x.config->vocab_size);
  if (!x.files)
    return x;
  auto* family = families.find(x.config->family);
  TROUPE_ASSERT(family != nullptr);
  x.tensors = tensor_map::bind(*x.config, *family, *x.files);
  return x;
}

/// All that is wrong with a folder, as one error.
error faults_of(const std::string& folder, const folder_parts& x) {
  fault_list faults;
  if (!x.config) {
    faults.add(x.config.error());
    check_side_file(folder, "generation_config.json", faults);
  } else if (!x.generation) {
    faults.add(x.generation.error());
  }
  if (!x.files)
    faults.add(x.files.error());
  else if (x.tensors && !*x.tensors)
    faults.add(x.tensors->error());
  check_side_file(folder, "tokenizer.json", faults);
  return faults.as_error(folder);
}

} // namespace

result<model_ptr> open_model(const std::string& folder,
                             const family_catalog& families) {
  if (auto ok = check_is_folder(folder); !ok)
    return tl::unexpected(std::move(ok).error());
  auto config = read_model_config(folder, families);
  if (!config && config.error().code == ec::unsupported)
    return tl::unexpected(std::move(config).error());
  auto x = read_parts(folder, std::move(config), families);
  if (!x.good())
    return tl::unexpected(faults_of(folder, x));
  auto digest = model_digest(*x.config, *x.files);
  auto warnings = x.files->warnings();
  return std::make_shared<const opened_model>(opened_model{
    folder, std::move(*x.config), std::move(*x.generation), std::move(*x.files),
    std::move(**x.tensors), std::move(digest), std::move(warnings)});
}

} // namespace troupe
