#include "runtime/engine/weight_tape.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>

using namespace troupe;

namespace {

constexpr kernels::compute_options options{kernels::isa::scalar,
                                           kernels::numeric_mode::bf16};

result<kernels::packed_weight> some_matrix(size_t outputs, size_t inputs,
                                           float first) {
  std::vector<float> values(outputs * inputs);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = first + static_cast<float>(i % 64);
  return kernels::packed_weight::pack(
    kernels::as_activation(values.data(), outputs, inputs), options);
}

result<std::vector<float>> some_floats(size_t count) {
  return std::vector<float>(count, 1.5F);
}

result<hidden_rows> some_rows(size_t rows, size_t cols) {
  hidden_rows out{rows, cols, kernels::dtype::bf16};
  for (size_t i = 0; i < rows * cols; ++i)
    out.memory.as<kernels::bf16>()[i] = kernels::to_bf16(static_cast<float>(i));
  return out;
}

/// Two parts, as one loading code makes them.
struct recording {
  recording() : parts(2) {
    first = parts[0]
              .packed("q", options, [] { return some_matrix(70, 33, 1); })
              .value();
    floats = parts[0].floats("norm", [] { return some_floats(5); }).value();
    rows = parts[1].rows("embedding", [] { return some_rows(3, 8); }).value();
  }

  std::vector<std::byte> image() const {
    const auto all = image_of(parts);
    std::vector<std::byte> out(image_bytes(all));
    copy_image(all, 0, out);
    return out;
  }

  std::vector<weight_tape> parts;
  kernels::packed_weight first;
  std::vector<float> floats;
  kernels::weight_view rows;
};

/// On a 64-byte boundary, as a mapped file is.
struct aligned_copy {
  explicit aligned_copy(std::span<const std::byte> x) : memory(x.size()) {
    std::memcpy(memory.data(), x.data(), x.size());
  }
  std::span<const std::byte> bytes() const {
    return memory.as<std::byte>();
  }
  kernels::aligned_buffer memory;
};

bool fails_to_play(weight_tape tape) {
  bool read = false;
  const auto x = tape.packed("q", options, [&] {
    read = true;
    return some_matrix(1, 1, 0);
  });
  BOOST_TEST(!read);
  return !x && x.error().code == ec::bad_format;
}

} // namespace

BOOST_AUTO_TEST_SUITE(weight_tape_suite)

BOOST_AUTO_TEST_CASE(an_image_plays_back_what_was_recorded) {
  const recording x;
  const aligned_copy image{x.image()};
  auto parts = parts_of(image.bytes());
  BOOST_TEST_REQUIRE(parts.has_value());
  BOOST_TEST_REQUIRE(parts->size() == 2u);
  auto never = [] { return some_matrix(1, 1, 0); };
  const auto first = (*parts)[0].packed("q", options, never).value();
  BOOST_TEST(first.outputs() == 70u);
  BOOST_TEST(first.inputs() == 33u);
  BOOST_TEST(first.size_bytes() == x.first.size_bytes());
  BOOST_TEST(std::memcmp(first.data(), x.first.data(), x.first.size_bytes()) ==
             0);
  const auto floats =
    (*parts)[0].floats("norm", [] { return some_floats(1); }).value();
  BOOST_TEST(floats == x.floats, boost::test_tools::per_element());
  const auto rows =
    (*parts)[1].rows("embedding", [] { return some_rows(1, 1); }).value();
  BOOST_TEST(rows.rows == 3u);
  BOOST_TEST(rows.cols == 8u);
  BOOST_TEST(std::memcmp(rows.row(2), x.rows.row(2), 16) == 0);
}

BOOST_AUTO_TEST_CASE(an_image_can_be_written_in_pieces) {
  const recording x;
  const auto whole = x.image();
  const auto stretches = image_of(x.parts);
  std::vector<std::byte> pieces;
  for (size_t begin = 0; begin < whole.size(); begin += 100) {
    std::vector<std::byte> piece(std::min<size_t>(100, whole.size() - begin));
    copy_image(stretches, begin, piece);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  BOOST_TEST((pieces == whole));
  BOOST_TEST(image_bytes_of(whole).value() == whole.size());
}

BOOST_AUTO_TEST_CASE(a_failure_to_read_is_passed_on) {
  weight_tape tape;
  const auto x = tape.packed("q", options, [] {
    return result<kernels::packed_weight>{fail(ec::io, "gone")};
  });
  BOOST_TEST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::io));
}

BOOST_AUTO_TEST_CASE(another_key_or_kind_is_not_played) {
  const recording x;
  const aligned_copy image{x.image()};
  auto parts = parts_of(image.bytes()).value();
  BOOST_TEST(
    !parts[0].packed("k", options, [] { return some_matrix(1, 1, 0); }));
  parts = parts_of(image.bytes()).value();
  BOOST_TEST(!parts[0].floats("q", [] { return some_floats(1); }));
  BOOST_TEST(fails_to_play(parts[1]));
}

BOOST_AUTO_TEST_CASE(what_comes_after_the_end_is_not_played) {
  weight_tape nothing{std::span<const std::byte>{}};
  BOOST_TEST(fails_to_play(nothing));
}

BOOST_AUTO_TEST_CASE(no_damaged_head_leads_outside) {
  const recording x;
  const auto whole = x.image();
  BOOST_TEST(!parts_of({}).has_value());
  BOOST_TEST(!image_bytes_of(std::vector<std::byte>(64)).has_value());
  // The head, and the first piece's: any byte may be anything.
  for (size_t at = 0; at < 192; ++at)
    for (const unsigned value : {0x01U, 0x80U, 0xffU}) {
      aligned_copy image{whole};
      image.memory.data()[at] ^= static_cast<std::byte>(value);
      auto parts = parts_of(image.bytes());
      if (!parts || parts->empty())
        continue;
      const auto played =
        (*parts)[0].packed("q", options, [] { return some_matrix(1, 1, 0); });
      if (!played || played->empty())
        continue;
      BOOST_TEST(played->data() >= image.bytes().data());
      BOOST_TEST(played->data() + played->size_bytes() <=
                 image.bytes().data() + image.bytes().size());
    }
}

BOOST_AUTO_TEST_CASE(a_short_image_is_refused) {
  const auto whole = recording{}.image();
  for (size_t size = 0; size < whole.size(); size += 64)
    BOOST_TEST(!parts_of(std::span{whole}.first(size)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
