#include "runtime/model/model_digest.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/canonical_recipe.hpp"

#include <array>
#include <fmt/format.h>
#include <memory>
#include <openssl/evp.h>

namespace troupe {

namespace {

/// SHA-256 of text that comes in pieces.
class sha256 {
public:
  sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    TROUPE_ASSERT(context_ != nullptr);
    TROUPE_ASSERT(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) ==
                  1);
  }

  void add(std::string_view text) {
    TROUPE_ASSERT(EVP_DigestUpdate(context_.get(), text.data(), text.size()) ==
                  1);
  }

  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned int size = 0;
    TROUPE_ASSERT(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1);
    std::string result;
    for (unsigned int i = 0; i < size; ++i)
      result += fmt::format("{:02x}", bytes[i]);
    return result;
  }

private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

} // namespace

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
