#include "runtime/trace/metrics.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <set>
#include <string>

using namespace troupe;

namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(metrics_suite)

BOOST_AUTO_TEST_CASE(names_are_unique_and_follow_the_conventions) {
  std::set<std::string_view> names;
  for (const auto& x : metric_families()) {
    BOOST_TEST_CONTEXT(x.name) {
      BOOST_TEST(names.insert(x.name).second);
      BOOST_TEST(x.name.starts_with("troupe_"));
      BOOST_TEST(!x.help.empty());
      BOOST_TEST(x.name.ends_with("_total") ==
                 (x.kind == metric_kind::counter));
      BOOST_TEST(x.buckets.empty() == (x.kind != metric_kind::histogram));
    }
  }
}

BOOST_AUTO_TEST_CASE(counters_gauges_and_histograms_are_rendered_as_text) {
  metrics counts;
  counts.at(metric::requests, {"stop"}).add();
  counts.at(metric::requests, {"stop"}).add(2);
  counts.at(metric::node_state, {"w1", "alive"}).set(1);
  counts.at(metric::requests_running).add(3);
  counts.at(metric::requests_running).add(-1);
  counts.at(metric::ttft_seconds).observe(0.2);
  auto text = counts.text();
  BOOST_TEST(has_line(text, "# TYPE troupe_requests_total counter"));
  BOOST_TEST(has_line(text, "troupe_requests_total{outcome=\"stop\"} 3"));
  BOOST_TEST(
    has_line(text, "troupe_node_state{node=\"w1\",state=\"alive\"} 1"));
  BOOST_TEST(has_line(text, "troupe_requests_running 2"));
  BOOST_TEST(has_line(text, "troupe_ttft_seconds_bucket{le=\"0.1\"} 0"));
  BOOST_TEST(has_line(text, "troupe_ttft_seconds_bucket{le=\"0.25\"} 1"));
  BOOST_TEST(has_line(text, "troupe_ttft_seconds_count 1"));
}

BOOST_AUTO_TEST_CASE(families_without_labels_are_there_before_any_event) {
  metrics counts;
  BOOST_TEST(has_line(counts.text(), "troupe_http_connections 0"));
  BOOST_TEST(has_line(counts.text(), "troupe_tpot_seconds_count 0"));
}

BOOST_AUTO_TEST_CASE(label_values_beyond_the_bound_count_as_other) {
  metrics counts;
  for (size_t i = 0; i < metrics::series_max + 10; ++i)
    counts.at(metric::node_restarts, {fmt::format("n{}", i)}).add();
  auto text = counts.text();
  BOOST_TEST(has_line(text, "troupe_node_restarts_total{node=\"other\"} 10"));
  BOOST_TEST(text.find("\"n300\"") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_label_value_cannot_break_the_text_format) {
  metrics counts;
  counts.at(metric::node_restarts, {"a\"b\nc"}).add();
  BOOST_TEST(has_line(counts.text(),
                      "troupe_node_restarts_total{node=\"a\\\"b\\nc\"} 1"));
}

BOOST_AUTO_TEST_SUITE_END()
