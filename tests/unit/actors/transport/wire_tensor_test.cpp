// Bytes on the wire: round trip, sharing, and lengths that lie.
#include "actors/transport/wire_tensor.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include <cstring>
#include <limits>
#include <vector>

using namespace troupe;

namespace {

/// Serialises through CAF as a connection would.
struct wire_fixture {
  std::vector<char> write(shared_bytes x) {
    std::vector<char> buffer;
    caf::binary_serializer sink{system, buffer};
    auto err = sink(x);
    BOOST_TEST(!err);
    return buffer;
  }

  caf::error read(const std::vector<char>& buffer, shared_bytes& x) {
    caf::binary_deserializer source{system, buffer.data(), buffer.size()};
    return source(x);
  }

  static std::vector<std::byte> pattern(size_t size) {
    std::vector<std::byte> result(size);
    for (size_t i = 0; i < size; ++i)
      result[i] = static_cast<std::byte>(i * 37 + 11);
    return result;
  }

  caf::actor_system_config config;
  caf::actor_system system{config};
};

} // namespace

BOOST_AUTO_TEST_SUITE(wire_tensor)

BOOST_FIXTURE_TEST_CASE(bytes_survive_the_wire, wire_fixture) {
  for (size_t size : {0UL, 1UL, 7UL, 4096UL, 1'000'003UL}) {
    auto original = shared_bytes::copy_of(pattern(size));
    auto buffer = write(original);
    BOOST_TEST(buffer.size() == size + 4);
    shared_bytes copy;
    auto err = read(buffer, copy);
    BOOST_TEST(!err);
    BOOST_TEST((copy == original));
  }
}

BOOST_FIXTURE_TEST_CASE(every_bit_pattern_of_a_float_survives, wire_fixture) {
  auto limits = std::numeric_limits<float>{};
  std::vector<float> values{0.0F,
                            -0.0F,
                            limits.infinity(),
                            -limits.infinity(),
                            limits.quiet_NaN(),
                            limits.denorm_min(),
                            1e-40F};
  auto original = shared_bytes::copy_of_values(std::span<const float>{values});
  shared_bytes copy;
  auto err = read(write(original), copy);
  BOOST_TEST(!err);
  auto floats = copy.as<float>();
  BOOST_REQUIRE(floats.size() == values.size());
  BOOST_TEST(std::memcmp(floats.data(), values.data(), copy.size()) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_lying_length_fails_and_allocates_nothing,
                        wire_fixture) {
  for (uint32_t claimed : {0xFFFFFFFFU, 0x40000000U, 101U}) {
    auto buffer = write(shared_bytes::copy_of(pattern(100)));
    for (size_t i = 0; i < 4; ++i)
      buffer[i] = static_cast<char>(claimed >> (24 - 8 * i) & 0xFF);
    auto x = shared_bytes::copy_of(pattern(3));
    auto err = read(buffer, x);
    BOOST_TEST(static_cast<bool>(err));
    BOOST_TEST(x.empty());
    BOOST_TEST(x.data() == nullptr);
  }
}

BOOST_FIXTURE_TEST_CASE(a_cut_length_fails, wire_fixture) {
  shared_bytes x;
  auto err = read({0, 0, 0}, x);
  BOOST_TEST(static_cast<bool>(err));
}

BOOST_AUTO_TEST_CASE(a_copy_and_a_slice_share_the_bytes) {
  auto bytes = shared_bytes::copy_of(wire_fixture::pattern(100));
  auto copy = bytes;
  BOOST_TEST(copy.data() == bytes.data());
  auto slice = bytes.slice(64, 36);
  bytes = {};
  copy = {};
  BOOST_TEST(slice.size() == 36U);
  BOOST_TEST(std::to_integer<int>(slice.bytes()[0]) == (64 * 37 + 11) % 256);
}

BOOST_AUTO_TEST_CASE(buffers_are_aligned_and_odd_slices_are_told_apart) {
  auto bytes = shared_bytes::copy_of(wire_fixture::pattern(64));
  BOOST_TEST(reinterpret_cast<uintptr_t>(bytes.data()) % 64 == 0U);
  BOOST_TEST(bytes.holds_array_of<float>());
  BOOST_TEST(!bytes.slice(1, 8).holds_array_of<float>());
  BOOST_TEST(!bytes.slice(0, 7).holds_array_of<float>());
}

BOOST_AUTO_TEST_CASE(the_content_is_never_printed) {
  auto bytes = shared_bytes::copy_of(wire_fixture::pattern(100));
  BOOST_TEST(to_string(bytes) == "bytes(100)");
}

BOOST_AUTO_TEST_SUITE_END()
