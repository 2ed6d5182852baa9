#include "runtime/model/model_digest.hpp"

#include "runtime/model/canonical_recipe.hpp"
#include "runtime/model/sha256.hpp"

#include <fmt/format.h>

namespace troupe {

std::string model_digest(const model_config& config, const checkpoint& files) {
  sha256 hash;
  // The first line names this scheme, so that a change of it changes digests.
  hash.add("troupe model digest 3\n");
  hash.add(canonical_recipe(config));
  for (auto& name : files.names())
    hash.add(fmt::format("{} {}\n", name, describe(*files.find(name))));
  return hash.hex();
}

} // namespace troupe
