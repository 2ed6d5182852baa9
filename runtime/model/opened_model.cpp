#include "runtime/model/opened_model.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/model_digest.hpp"

namespace troupe {

result<model_ptr> open_model(const std::string& folder,
                             const family_catalog& families) {
  // The recipe first: a model that cannot be run is refused before its files,
  // which may be large and remote, are touched.
  auto config = read_model_config(folder, families);
  if (!config)
    return tl::unexpected(std::move(config).error());
  auto* family = families.find(config->family);
  TROUPE_ASSERT(family != nullptr);
  auto generation = read_generation_config(folder, config->vocab_size);
  if (!generation)
    return tl::unexpected(std::move(generation).error());
  auto files = checkpoint::open(folder);
  if (!files)
    return tl::unexpected(std::move(files).error());
  auto tensors = tensor_map::bind(*config, *family, *files);
  if (!tensors)
    return tl::unexpected(std::move(tensors).error());
  auto digest = model_digest(*config, *files);
  return std::make_shared<const opened_model>(
    opened_model{folder, std::move(*config), std::move(*generation),
                 std::move(*files), std::move(*tensors), std::move(digest)});
}

} // namespace troupe
