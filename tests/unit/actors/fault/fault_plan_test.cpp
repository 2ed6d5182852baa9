#include "actors/fault/fault_plan.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;
using point = fault_trigger::point;

BOOST_AUTO_TEST_SUITE(fault_plan_suite)

BOOST_AUTO_TEST_CASE(every_form_of_the_grammar_is_read) {
  auto x =
    parse_faults({"kill:w1@token=10", "stop:w2@prefill=1", "kill:*@layer=3",
                  "slow:w1=20us", "route:5=+4", "route:6=-1.5"});
  BOOST_REQUIRE(x.has_value());
  BOOST_REQUIRE(x->orders.size() == 3u);
  BOOST_TEST((x->orders[0].what == process_fault::kill));
  BOOST_TEST(x->orders[0].node == "w1");
  BOOST_TEST((x->orders[0].when == fault_trigger{point::token, 10}));
  BOOST_TEST((x->orders[1].what == process_fault::stop));
  BOOST_TEST((x->orders[1].when == fault_trigger{point::prefill, 1}));
  BOOST_TEST((x->orders[2].when == fault_trigger{point::layer, 3}));
  BOOST_TEST((x->slow.at("w1") == 20us));
  BOOST_TEST(x->score_bias.at(5) == 4.0f);
  BOOST_TEST(x->score_bias.at(6) == -1.5f);
}

BOOST_AUTO_TEST_CASE(anything_else_is_refused_with_the_grammar) {
  for (auto text : {"",
                    "kill",
                    "kill:",
                    "kill:w1",
                    "kill:w1@",
                    "kill:w1@token",
                    "kill:w1@token=",
                    "kill:w1@token=-1",
                    "kill:w1@token=1x",
                    "kill:@token=1",
                    "kill:w1@step=1",
                    "burn:w1@token=1",
                    "slow:w1",
                    "slow:w1=20",
                    "slow:w1=us",
                    "slow:w1=20min",
                    "slow:=20us",
                    "route:x=+4",
                    "route:5",
                    "route:5=much",
                    "slow:w1=99999999999s"}) {
    auto x = parse_faults({text});
    BOOST_TEST(!x.has_value(), text);
    if (x)
      continue;
    BOOST_TEST((x.error().code == ec::invalid_argument));
    BOOST_TEST(x.error().message.find("kill:NODE@token=N") !=
               std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(each_fault_fires_once_and_only_when_it_is_due) {
  auto spec = parse_faults({"kill:w1@token=3", "stop:w2@token=3"}).value();
  fault_plan plan{spec.orders};
  BOOST_TEST(plan.due({point::token, 2}).empty());
  BOOST_TEST(plan.due({point::layer, 3}).empty());
  auto due = plan.due({point::token, 3});
  BOOST_REQUIRE(due.size() == 2u);
  BOOST_TEST(due[0].node == "w1");
  BOOST_TEST(due[1].node == "w2");
  BOOST_TEST(plan.due({point::token, 3}).empty());
  BOOST_TEST(plan.empty());
}

BOOST_AUTO_TEST_SUITE_END()
