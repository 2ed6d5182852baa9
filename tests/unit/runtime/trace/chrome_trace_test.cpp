#include "runtime/trace/chrome_trace.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace troupe;
using namespace std::chrono_literals;
using json = nlohmann::json;

namespace {

const time_point t0 = time_point{} + 5s;

span dispatch_span() {
  span x;
  x.name = "dispatch";
  x.actor = "dispatcher[3]";
  x.context = {0xabcd, 1};
  x.start = t0;
  x.end = t0 + 1500ns;
  x.request = sequence_id{7};
  x.layer = layer_index{3};
  x.args[0] = {"rows", 12};
  return x;
}

span compute_span() {
  span x;
  x.name = "compute";
  x.node = "w1";
  x.actor = "expert_shard[3]";
  x.context = {0xabcd, 2};
  x.parent = 1;
  x.start = t0 + 1us;
  x.end = t0 + 2us;
  return x;
}

span wait_span() {
  span x;
  x.name = "remote wait";
  x.kind = span_kind::wait;
  x.actor = "dispatcher[3]";
  x.context = {0xabcd, 3};
  x.start = t0 + 1us;
  x.end = t0 + 4us;
  return x;
}

json written(const recorded_spans& recorded) {
  std::ostringstream out;
  write_chrome_trace(out, recorded);
  return json::parse(out.str());
}

/// The events of phase `ph`, in order.
std::vector<json> events(const json& document, const std::string& ph) {
  std::vector<json> result;
  for (const auto& x : document["traceEvents"])
    if (x["ph"] == ph)
      result.push_back(x);
  return result;
}

/// A folder that is gone at the end of the test.
struct scratch_folder {
  std::filesystem::path path;
  scratch_folder() {
    std::string name =
      (std::filesystem::temp_directory_path() / "troupe-trace-XXXXXX").string();
    BOOST_TEST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(chrome_trace_suite)

BOOST_AUTO_TEST_CASE(work_is_a_complete_event_in_microseconds_from_the_start) {
  auto document = written({{dispatch_span(), compute_span()}, 4});
  BOOST_TEST(document["otherData"]["dropped_spans"] == 4);
  auto got = events(document, "X");
  BOOST_TEST_REQUIRE(got.size() == 2u);
  BOOST_TEST(got[0]["name"] == "dispatch");
  BOOST_TEST(got[0]["ts"] == 0.0);
  BOOST_TEST(got[0]["dur"] == 1.5);
  BOOST_TEST(got[0]["args"]["request"] == 7);
  BOOST_TEST(got[0]["args"]["layer"] == 3);
  BOOST_TEST(got[0]["args"]["rows"] == 12);
  BOOST_TEST(got[0]["args"]["trace"] == "000000000000abcd");
  BOOST_TEST(!got[0]["args"].contains("batch"));
  BOOST_TEST(got[1]["ts"] == 1.0);
}

BOOST_AUTO_TEST_CASE(processes_are_nodes_and_threads_are_actors) {
  auto document = written({{compute_span(), dispatch_span()}, 0});
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const auto& x : events(document, "M")) {
    int pid = x["pid"];
    std::string name = x["args"]["name"];
    if (x["name"] == "process_name")
      processes[pid] = name;
    else
      threads[{pid, x["tid"]}] = name;
  }
  BOOST_TEST(processes.size() == 2u);
  BOOST_TEST(processes[1] == "head");
  for (const auto& x : events(document, "X")) {
    bool remote = x["name"] == "compute";
    BOOST_TEST(processes[x["pid"]] == (remote ? "w1" : "head"));
    BOOST_TEST((threads[{x["pid"], x["tid"]}]) ==
               (remote ? "expert_shard[3]" : "dispatcher[3]"));
  }
}

BOOST_AUTO_TEST_CASE(waits_may_overlap_and_so_are_pairs_with_an_id) {
  auto document = written({{wait_span(), wait_span()}, 0});
  auto begins = events(document, "b");
  auto ends = events(document, "e");
  BOOST_TEST_REQUIRE(begins.size() == 2u);
  BOOST_TEST_REQUIRE(ends.size() == 2u);
  BOOST_TEST(begins[0]["id"] == ends[0]["id"]);
  BOOST_TEST(begins[0]["id"] != begins[1]["id"]);
  BOOST_TEST(ends[0]["ts"] == 3.0);
}

BOOST_AUTO_TEST_CASE(an_arrow_leads_from_a_span_to_what_it_caused_elsewhere) {
  auto same_line = dispatch_span();
  same_line.context.span = 9;
  same_line.parent = 1;
  auto document = written({{dispatch_span(), compute_span(), same_line}, 0});
  auto from = events(document, "s");
  auto to = events(document, "f");
  BOOST_TEST_REQUIRE(from.size() == 1u);
  BOOST_TEST_REQUIRE(to.size() == 1u);
  BOOST_TEST(from[0]["id"] == to[0]["id"]);
  BOOST_TEST(from[0]["pid"] != to[0]["pid"]);
  BOOST_TEST(from[0]["ts"] <= to[0]["ts"]);
}

BOOST_AUTO_TEST_CASE(hostile_names_and_missing_parents_stay_valid_json) {
  auto x = compute_span();
  x.name = "a\"b\\c\n\x01\xff";
  x.node = "w\"1";
  x.parent = 77;
  auto got = events(written({{x}, 0}), "X");
  BOOST_TEST_REQUIRE(got.size() == 1u);
  BOOST_TEST(got[0]["name"] == "a\"b\\c\n\x01?");
}

BOOST_AUTO_TEST_CASE(no_span_at_all_is_a_valid_document) {
  BOOST_TEST(written({}).at("traceEvents").size() == 1u);
}

BOOST_AUTO_TEST_CASE(saving_replaces_the_file_and_leaves_nothing_beside_it) {
  scratch_folder folder;
  auto path = folder.path / "trace.json";
  std::ofstream{path} << "old";
  BOOST_TEST(
    save_chrome_trace(path.string(), {{dispatch_span()}, 0}).has_value());
  std::ifstream in{path};
  BOOST_TEST(json::parse(in)["traceEvents"].size() == 3u);
  auto entries = std::filesystem::directory_iterator{folder.path};
  BOOST_TEST(std::distance(begin(entries), end(entries)) == 1);
}

BOOST_AUTO_TEST_CASE(disk_trouble_is_an_error_that_names_the_file) {
  scratch_folder folder;
  auto missing = (folder.path / "no" / "trace.json").string();
  auto got = save_chrome_trace(missing, {});
  BOOST_TEST_REQUIRE(!got.has_value());
  BOOST_TEST((got.error().code == ec::io));
  BOOST_TEST(got.error().message.find(missing) != std::string::npos);
  // A folder in the place of the file: writing works, renaming does not.
  auto taken = folder.path / "taken";
  std::filesystem::create_directories(taken / "x");
  BOOST_TEST(!save_chrome_trace(taken.string(), {}).has_value());
  auto entries = std::filesystem::directory_iterator{folder.path};
  BOOST_TEST(std::distance(begin(entries), end(entries)) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
