#include "actors/membership/membership_table.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

const time_point t0 = time_point{} + 1h;

membership_table make_table() {
  return membership_table{{{800ms, 2s, 1s}, 3}};
}

/// Joins and loads map 1.
node_id join_and_load(membership_table& x, const std::string& name,
                      uint64_t incarnation, time_point now = t0) {
  auto id = x.join(now, name, incarnation).value();
  x.assigned(id, 1);
  x.loaded(id, incarnation, 1);
  x.update(now);
  return id;
}

} // namespace

BOOST_AUTO_TEST_SUITE(membership_table_suite)

BOOST_AUTO_TEST_CASE(a_node_is_alive_once_its_experts_are_loaded) {
  auto x = make_table();
  auto id = x.join(t0, "w1", 7).value();
  x.assigned(id, 3);
  BOOST_TEST(x.update(t0).empty());
  BOOST_TEST((x.find(id)->state == node_state::joining));
  BOOST_TEST(x.loaded(id, 7, 3));
  auto changes = x.update(t0);
  BOOST_REQUIRE(changes.size() == 1u);
  BOOST_TEST((changes[0].state == node_state::alive));
}

BOOST_AUTO_TEST_CASE(a_name_keeps_its_id_through_restarts) {
  auto x = make_table();
  auto id = join_and_load(x, "w1", 7);
  x.connection_lost(id, 7);
  BOOST_TEST((x.update(t0).at(0).state == node_state::dead));
  BOOST_TEST((x.join(t0, "w1", 8).value() == id));
  BOOST_TEST((x.find(id)->state == node_state::joining));
  BOOST_TEST(x.find(id)->joins == 2u);
}

BOOST_AUTO_TEST_CASE(a_name_of_a_living_process_is_refused) {
  auto x = make_table();
  join_and_load(x, "w1", 7);
  auto refused = x.join(t0, "w1", 8);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST((refused.error().code == ec::invalid_argument));
  BOOST_TEST(refused.error().message.find("w1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_number_of_nodes_is_bounded) {
  auto x = make_table();
  for (auto name : {"a", "b", "c"})
    BOOST_TEST(x.join(t0, name, 1).has_value());
  BOOST_TEST((x.join(t0, "d", 1).error().code == ec::overloaded));
}

BOOST_AUTO_TEST_CASE(a_zombie_is_ignored_after_its_death) {
  auto x = make_table();
  auto id = join_and_load(x, "w1", 7);
  BOOST_TEST((x.update(t0 + 3s).at(0).state == node_state::dead));
  BOOST_TEST(!x.heartbeat(t0 + 4s, id, 7, 0));
  BOOST_TEST(x.update(t0 + 4s).empty());
  join_and_load(x, "w1", 8, t0 + 5s);
  BOOST_TEST(!x.heartbeat(t0 + 5s, id, 7, 0));
  x.connection_lost(id, 7);
  BOOST_TEST(x.update(t0 + 5s).empty());
  BOOST_TEST((x.find(id)->state == node_state::alive));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_late_is_suspect_and_recovers) {
  auto x = make_table();
  auto id = join_and_load(x, "w1", 7);
  x.missed_deadline(t0, id, 7);
  BOOST_TEST((x.update(t0).at(0).state == node_state::suspect));
  x.heartbeat(t0 + 1s, id, 7, 0);
  BOOST_TEST((x.update(t0 + 1s).at(0).state == node_state::alive));
}

BOOST_AUTO_TEST_CASE(a_map_is_loaded_when_every_living_node_has_it) {
  auto x = make_table();
  auto a = join_and_load(x, "a", 1);
  auto b = join_and_load(x, "b", 2);
  x.assigned(a, 2);
  x.assigned(b, 2);
  x.loaded(a, 1, 2);
  BOOST_TEST(!x.all_loaded(2));
  BOOST_TEST((x.find(b)->state == node_state::alive));
  x.connection_lost(b, 2);
  x.update(t0);
  BOOST_TEST(x.all_loaded(2));
}

BOOST_AUTO_TEST_CASE(the_cluster_is_complete_when_all_expected_nodes_serve) {
  auto x = make_table();
  x.expect("w1");
  x.expect("w2");
  BOOST_TEST(!x.complete());
  join_and_load(x, "w1", 1);
  BOOST_TEST(!x.complete());
  join_and_load(x, "w2", 2);
  BOOST_TEST(x.complete());
  x.join(t0, "guest", 3).value();
  BOOST_TEST(x.complete());
}

BOOST_AUTO_TEST_SUITE_END()
