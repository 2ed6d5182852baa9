// Hello: round trip, every mismatch by its own message, foreign versions.
#include "actors/transport/hello.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <random>

using namespace troupe;

namespace {

hello make_hello(std::string name) {
  hello x;
  x.program_version = "0.1.0";
  x.endianness = native_endianness();
  x.model_digest.fill(0xAB);
  x.model_name = "demo";
  x.numeric_fingerprint = 0x0123456789ABCDEF;
  x.numeric_mode = "bf16";
  x.incarnation.fill(static_cast<uint8_t>(name.size()));
  x.node_name = std::move(name);
  x.capacity = {uint64_t{6} << 30, 2};
  return x;
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct mismatch {
  std::function<void(hello&)> change;
  ec code;
  std::string_view part; ///< What the message must name.
};

} // namespace

BOOST_AUTO_TEST_SUITE(hello_handshake)

BOOST_AUTO_TEST_CASE(a_hello_survives_the_wire) {
  auto x = make_hello("alpha");
  auto y = decode_hello(encode(x));
  BOOST_REQUIRE(y.has_value());
  BOOST_TEST((*y == x));
}

BOOST_AUTO_TEST_CASE(equal_programs_may_work_together) {
  BOOST_TEST(check_hello(make_hello("head"), make_hello("alpha")).has_value());
}

BOOST_AUTO_TEST_CASE(every_difference_is_refused_by_name) {
  const mismatch table[]{
    {[](hello& x) { x.protocol = 9; }, ec::protocol_mismatch, "protocol 9"},
    {[](hello& x) { x.endianness = 0x04030201 ^ x.endianness; },
     ec::protocol_mismatch, "byte order"},
    {[](hello& x) { x.model_digest[0] = 1; }, ec::protocol_mismatch,
     "01abababab"},
    {[](hello& x) { x.numeric_mode = "f32"; }, ec::protocol_mismatch, "f32"},
    {[](hello& x) { x.numeric_fingerprint = 0xBEEF; }, ec::protocol_mismatch,
     "000000000000beef"},
    {[](hello& x) { x.node_name = ""; }, ec::bad_format, "node name"},
    {[](hello& x) { x.node_name = "a b"; }, ec::bad_format, "a b"},
    {[](hello& x) { x.node_name = "a\x1b[2J"; }, ec::bad_format, "a?[2J"},
    {[](hello& x) { x.incarnation = make_hello("head").incarnation; },
     ec::protocol_mismatch, "itself"},
  };
  for (const auto& row : table) {
    auto theirs = make_hello("alpha");
    row.change(theirs);
    auto outcome = check_hello(make_hello("head"), theirs);
    BOOST_REQUIRE(!outcome);
    BOOST_TEST((outcome.error().code == row.code));
    BOOST_TEST_CONTEXT(outcome.error().message) {
      BOOST_TEST(mentions(outcome.error().message, row.part));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_foreign_version_is_named_whatever_its_body_holds) {
  auto x = make_hello("alpha");
  x.protocol = protocol_version + 1;
  x.program_version = "7.7";
  auto bytes = encode(x);
  bytes.resize(bytes.size() + 1000, std::byte{0xEE}); // Fields of the future.
  auto y = decode_hello(bytes);
  BOOST_REQUIRE(!y);
  BOOST_TEST((y.error().code == ec::protocol_mismatch));
  BOOST_TEST(mentions(y.error().message, "troupe 7.7"));
}

BOOST_AUTO_TEST_CASE(every_cut_and_every_tail_is_refused) {
  auto bytes = encode(make_hello("alpha"));
  for (size_t size = 0; size < bytes.size(); ++size)
    BOOST_TEST(!decode_hello(std::span{bytes}.first(size)).has_value());
  bytes.push_back(std::byte{0});
  BOOST_TEST(!decode_hello(bytes).has_value());
}

BOOST_AUTO_TEST_CASE(random_bytes_are_refused_or_decoded_but_never_crash) {
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  auto original = encode(make_hello("alpha"));
  for (int round = 0; round < 5000; ++round) {
    auto bytes = original;
    for (int i = 0; i < 3; ++i)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    auto x = decode_hello(bytes);
    if (x)
      BOOST_TEST(x->node_name.size() <= 64U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
