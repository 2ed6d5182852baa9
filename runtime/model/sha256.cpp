#include "runtime/model/sha256.hpp"

#include "runtime/assert.hpp"

#include <array>
#include <fmt/format.h>
#include <openssl/evp.h>

namespace troupe {

struct sha256::state {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
};

void sha256::deleter::operator()(state* x) const {
  EVP_MD_CTX_free(x->context);
  delete x;
}

sha256::sha256() : state_(new state) {
  TROUPE_ASSERT(state_->context != nullptr);
  TROUPE_ASSERT(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

void sha256::add(std::string_view text) {
  TROUPE_ASSERT(EVP_DigestUpdate(state_->context, text.data(), text.size()) ==
                1);
}

std::string sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  TROUPE_ASSERT(EVP_DigestFinal_ex(state_->context, bytes.data(), &size) == 1);
  std::string result;
  for (unsigned int i = 0; i < size; ++i)
    result += fmt::format("{:02x}", bytes[i]);
  return result;
}

} // namespace troupe
