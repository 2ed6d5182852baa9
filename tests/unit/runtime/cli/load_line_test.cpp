// What is shown of loading, when, and where.
#include "runtime/cli/load_line.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace troupe::cli;
using namespace std::chrono_literals;

namespace {

constexpr uint64_t mib = 1 << 20;

} // namespace

BOOST_AUTO_TEST_SUITE(load_line_suite)

BOOST_AUTO_TEST_CASE(a_text_has_bytes_percent_and_rate) {
  BOOST_TEST(load_text(2s, {256 * mib, 1024 * mib}) ==
             "loading weights: 256 MiB of 1.00 GiB, 25 %, 128 MiB/s");
  BOOST_TEST(load_text(2s, {256 * mib, 0}) ==
             "loading weights: 256 MiB, 128 MiB/s");
  BOOST_TEST(load_text(0s, {0, mib}) ==
             "loading weights: 0 B of 1.00 MiB, 0 %, 0 B/s");
}

BOOST_AUTO_TEST_CASE(all_percent_mean_all_bytes) {
  BOOST_TEST((load_progress{0, 0}.percent()) == 0u);
  BOOST_TEST((load_progress{999, 1000}.percent()) == 99u);
  BOOST_TEST((load_progress{99'999, 100'000}.percent()) == 99u);
  BOOST_TEST((load_progress{1000, 1000}.percent()) == 100u);
  BOOST_TEST((load_progress{1001, 1000}.percent()) == 100u);
}

BOOST_AUTO_TEST_CASE(a_terminal_has_one_line_written_over) {
  load_line x{load_display::terminal};
  BOOST_TEST(!x.step(100ms, {1, 100}).has_value());
  auto first = x.step(1s, {100 * mib, 1000 * mib});
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST(first->starts_with("\r[##"));
  BOOST_TEST(first->find('\n') == std::string::npos);
  // A shorter text covers the longer one.
  auto second = x.step(2s, {1, 1});
  BOOST_REQUIRE(second.has_value());
  BOOST_TEST(second->size() == first->size());
  auto end = x.finish();
  BOOST_TEST(end.starts_with("\r "));
  BOOST_TEST(end.ends_with("\r"));
  BOOST_TEST(x.finish().empty());
}

BOOST_AUTO_TEST_CASE(elsewhere_a_line_comes_every_few_seconds) {
  load_line x{load_display::lines};
  BOOST_TEST(!x.step(1900ms, {1, 100}).has_value());
  auto first = x.step(2s, {1, 100});
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST(first->starts_with("troupe: loading weights"));
  BOOST_TEST(first->ends_with("\n"));
  BOOST_TEST(!x.step(6900ms, {2, 100}).has_value());
  BOOST_TEST(x.step(7s, {2, 100}).has_value());
  BOOST_TEST(x.finish().empty());
}

BOOST_AUTO_TEST_CASE(nothing_is_shown_of_what_is_not_read) {
  for (auto display : {load_display::lines, load_display::terminal}) {
    load_line x{display};
    BOOST_TEST(!x.step(60s, {0, 100}).has_value());
  }
}

BOOST_AUTO_TEST_CASE(silence_is_silent) {
  load_line x{load_display::none};
  BOOST_TEST(!x.step(60s, {1, 100}).has_value());
  BOOST_TEST(x.finish().empty());
}

BOOST_AUTO_TEST_SUITE_END()
