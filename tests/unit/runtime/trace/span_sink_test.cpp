#include "runtime/trace/span_sink.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>

using namespace troupe;

namespace {

span named(std::string name) {
  span x;
  x.name = std::move(name);
  return x;
}

} // namespace

BOOST_AUTO_TEST_SUITE(span_sink_suite)

BOOST_AUTO_TEST_CASE(a_full_sink_keeps_the_newest_and_counts_the_rest) {
  span_sink sink{3};
  for (auto name : {"a", "b", "c", "d", "e"})
    sink.record(named(name));
  auto got = sink.snapshot();
  BOOST_TEST(got.dropped == 2u);
  BOOST_TEST_REQUIRE(got.spans.size() == 3u);
  BOOST_TEST(got.spans[0].name == "c");
  BOOST_TEST(got.spans[1].name == "d");
  BOOST_TEST(got.spans[2].name == "e");
}

BOOST_AUTO_TEST_CASE(taking_empties_the_sink_and_its_counter) {
  span_sink sink{1};
  sink.record(named("a"));
  sink.record(named("b"));
  BOOST_TEST(sink.take().dropped == 1u);
  auto empty = sink.snapshot();
  BOOST_TEST(empty.spans.empty());
  BOOST_TEST(empty.dropped == 0u);
  sink.record(named("c"));
  BOOST_TEST(sink.snapshot().spans.at(0).name == "c");
}

BOOST_AUTO_TEST_CASE(ids_are_unique_and_never_zero) {
  span_sink sink{1};
  auto first = sink.next_id();
  BOOST_TEST(first != 0u);
  BOOST_TEST(sink.next_id() != first);
}

BOOST_AUTO_TEST_CASE(spans_of_several_threads_are_all_kept_or_counted) {
  span_sink sink{500};
  auto record = [&sink] {
    for (int i = 0; i < 1000; ++i)
      sink.record(named("x"));
  };
  std::thread first{record};
  std::thread second{record};
  first.join();
  second.join();
  auto got = sink.take();
  BOOST_TEST(got.spans.size() == 500u);
  BOOST_TEST(got.dropped == 1500u);
}

BOOST_AUTO_TEST_SUITE_END()
