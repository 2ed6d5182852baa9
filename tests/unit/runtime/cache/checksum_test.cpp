#include "runtime/cache/checksum.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

using namespace troupe;

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> out(text.size());
  std::memcpy(out.data(), text.data(), text.size());
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(checksum_suite)

BOOST_AUTO_TEST_CASE(one_word_has_the_crc32c_of_its_bytes) {
  // Only stream 0 gets data. The definition's well-known check values: 32 zero
  // bytes 0x8a9136aa (RFC 3720, B.4), "123456789" 0xe3069283.
  const auto zeros = checksum_of(std::vector<std::byte>(8));
  BOOST_TEST(zeros[0] == 0x8c28b28aU);
  BOOST_TEST(zeros[1] == 0U); // an empty stream
  const auto text = checksum_of(bytes_of("12345678"));
  BOOST_TEST(text[0] == 0x6087809aU);
}

BOOST_AUTO_TEST_CASE(words_are_dealt_to_the_streams_in_turn) {
  const auto all = checksum_of(bytes_of("aaaaaaaabbbbbbbbccccccccdddddddd"));
  BOOST_TEST(all[0] == checksum_of(bytes_of("aaaaaaaa"))[0]);
  BOOST_TEST(all[1] == checksum_of(bytes_of("bbbbbbbb"))[0]);
  BOOST_TEST(all[2] == checksum_of(bytes_of("cccccccc"))[0]);
  BOOST_TEST(all[3] == checksum_of(bytes_of("dddddddd"))[0]);
}

BOOST_AUTO_TEST_CASE(the_instruction_follows_the_definition) {
  const uint32_t seed = 20261201;
  BOOST_TEST_CONTEXT("seed " << seed) {
    std::mt19937 random{seed};
    for (size_t size :
         {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{31}, size_t{32},
          size_t{33}, size_t{40}, size_t{63}, size_t{4096}, size_t{9999}}) {
      std::vector<std::byte> bytes(size);
      for (auto& x : bytes)
        x = static_cast<std::byte>(random());
      BOOST_TEST((checksum_of(bytes) == checksum_by_definition(bytes)),
                 "size " << size);
    }
  }
}

BOOST_AUTO_TEST_CASE(any_flipped_bit_changes_it) {
  std::vector<std::byte> bytes(200, std::byte{0x5a});
  const auto intact = checksum_of(bytes);
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    bytes[i / 8] ^= static_cast<std::byte>(1U << i % 8);
    BOOST_TEST((checksum_of(bytes) != intact), "bit " << i);
    bytes[i / 8] ^= static_cast<std::byte>(1U << i % 8);
  }
}

BOOST_AUTO_TEST_SUITE_END()
