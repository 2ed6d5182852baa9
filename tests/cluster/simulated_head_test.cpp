// The head's actors under every misfortune that a test can think of, on a
// virtual clock: the tokens stay those of a single process, and a client sees
// each of them once.
#include "tests/cluster/simulated_head.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto w1 = node_id{1};
constexpr auto w2 = node_id{2};
constexpr auto orders = 8u;

/// Longer than any deadline of a batch at a node.
constexpr auto past_deadline = seconds(11);

void check_all_done(simulated_head& head) {
  for (auto& end : head.ends())
    BOOST_TEST((end == finish_reason::length));
  auto tokens = head.tokens();
  BOOST_REQUIRE_EQUAL(tokens.size(), simulated_head::expected().size());
  for (size_t i = 0; i < tokens.size(); ++i)
    BOOST_TEST(tokens[i] == simulated_head::expected()[i],
               boost::test_tools::per_element());
}

/// Calls `play(head)` for several orders of the messages.
template <class F>
void each_order(F play, simulation_options options = {}) {
  for (uint32_t seed = 0; seed < orders; ++seed) {
    BOOST_TEST_CONTEXT("order of messages " << seed) {
      options.order_seed = seed;
      simulated_head head{options};
      play(head);
    }
  }
}

/// Lets the first node keep the batches of a layer from its n-th on.
auto hold_from(uint32_t number) {
  return [number, seen = 0u](const asked_batch& x) mutable {
    return x.node == w1 && ++seen >= number ? conduct::hold : conduct::answer;
  };
}

} // namespace

BOOST_AUTO_TEST_SUITE(simulated_heads)

BOOST_AUTO_TEST_CASE(undisturbed_actors_give_the_tokens_of_one_process) {
  each_order([](simulated_head& head) {
    head.open_all();
    head.run();
    check_all_done(head);
    BOOST_TEST(head.stats().rerouted_pairs == 0u);
    BOOST_TEST(head.stats().remote_pairs > 0u);
    BOOST_TEST(head.asked(w1) > 0u);
    BOOST_TEST(head.asked(w2) > 0u);
    BOOST_TEST(head.asked(local_node) == 0u);
  });
}

BOOST_AUTO_TEST_CASE(a_silent_node_costs_one_deadline_for_all_layers) {
  each_order([](simulated_head& head) {
    head.decide = hold_from(5);
    head.open_all();
    head.run();
    BOOST_TEST(head.held.size() == 1u);
    auto asked = head.asked(w1);
    head.advance(past_deadline);
    check_all_done(head);
    BOOST_TEST((head.state(w1) == node_state::suspect));
    BOOST_TEST(head.asked(w1) == asked); // the other layers did not try
    BOOST_TEST(head.reports_of_lateness() == 1u);
    BOOST_TEST(head.stats().failures == 1u);
    BOOST_TEST(head.stats().rerouted_pairs > 0u);
  });
}

BOOST_AUTO_TEST_CASE(a_batch_is_not_rerouted_before_its_deadline) {
  simulated_head head;
  head.decide = hold_from(1); // nothing learned yet: the deadline is 10 s
  head.open_all();
  head.run();
  head.advance(seconds(9));
  BOOST_TEST(head.reports_of_lateness() == 0u);
  BOOST_TEST(head.asked(local_node) == 0u);
  head.advance(seconds(2));
  BOOST_TEST(head.reports_of_lateness() == 1u);
  check_all_done(head);
}

BOOST_AUTO_TEST_CASE(late_replies_change_nothing) {
  each_order([](simulated_head& head) {
    head.decide = hold_from(3);
    head.open_all();
    head.run();
    BOOST_REQUIRE_EQUAL(head.held.size(), 1u);
    // FALLBACK is kept waiting too, so that the late reply meets an open pass.
    head.decide = [](auto& x) {
      return x.node == local_node ? conduct::hold : conduct::answer;
    };
    head.advance(past_deadline);
    BOOST_REQUIRE_EQUAL(head.held.size(), 2u);
    auto [late, local] = std::pair{head.held[0], head.held[1]};
    head.decide = [](auto&) { return conduct::answer; };
    head.release(late);
    head.run();
    BOOST_TEST(!head.ends().front().has_value());
    head.release(local);
    head.run();
    check_all_done(head);
    head.release(late);
    head.run();
    check_all_done(head);
  });
}

BOOST_AUTO_TEST_CASE(a_lost_node_is_replaced_at_once) {
  each_order([](simulated_head& head) {
    head.decide = hold_from(4);
    head.open_all();
    head.run();
    auto asked = head.asked(w1);
    head.lose(w1);
    head.run(); // no time passes
    check_all_done(head);
    BOOST_TEST(head.asked(w1) == asked);
    BOOST_TEST(head.stats().failures == 1u);
    BOOST_TEST(head.reports_of_lateness() == 0u);
  });
}

BOOST_AUTO_TEST_CASE(losing_all_nodes_leaves_the_tokens_alone) {
  each_order([](simulated_head& head) {
    auto seen = 0u;
    head.decide = [&seen](auto& x) {
      return x.node != local_node && ++seen >= 6 ? conduct::hold
                                                 : conduct::answer;
    };
    head.open_all();
    head.run();
    head.lose(w1);
    head.lose(w2);
    head.run();
    check_all_done(head);
  });
}

BOOST_AUTO_TEST_CASE(a_restarted_dispatcher_is_asked_again) {
  each_order([](simulated_head& head) {
    head.decide = hold_from(2);
    head.open_all();
    head.run();
    BOOST_REQUIRE_EQUAL(head.held.size(), 1u);
    auto old = head.held.front();
    head.decide = [](auto&) { return conduct::answer; };
    head.restart_dispatcher(layer_index{old.batch.header.layer});
    head.run();
    check_all_done(head);
    head.release(old); // to an actor that is gone
    head.run();
    check_all_done(head);
    BOOST_TEST(head.stats().rerouted_pairs == 0u);
  });
}

BOOST_AUTO_TEST_CASE(any_actor_may_be_restarted_between_any_two_messages) {
  for (uint32_t at = 1; at < 160; at += 3) {
    BOOST_TEST_CONTEXT("restart after message " << at) {
      simulated_head head{{.order_seed = at}};
      head.open_all();
      auto count = 0u;
      head.run_until([&] { return count++ == at; });
      switch (at % 4) {
      case 0:
        head.restart_backbone();
        break;
      case 1:
        head.restart_router();
        break;
      default:
        for (auto layer : head.layers())
          head.restart_dispatcher(layer);
        break;
      }
      head.run();
      check_all_done(head);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_new_backbone_goes_on_behind_the_recorded_tokens) {
  simulated_head undisturbed;
  undisturbed.open_all();
  undisturbed.run();
  // Prefilling prompt and recorded tokens again takes as many passes.
  constexpr auto again = 3u;
  each_order([&](simulated_head& head) {
    head.open_all();
    head.run_until([&] { return head.tokens().front().size() == 5; });
    BOOST_TEST(head.tokens().front().size() == 5u);
    head.restart_backbone();
    head.run();
    check_all_done(head);
    BOOST_TEST(head.stats().passes <= undisturbed.stats().passes + again);
  });
}

BOOST_AUTO_TEST_CASE(a_node_that_refuses_is_not_asked_again) {
  each_order([](simulated_head& head) {
    head.decide = [](auto& x) {
      return x.node == w2 ? conduct::refuse : conduct::answer;
    };
    head.open_all();
    head.run();
    check_all_done(head);
    BOOST_TEST(head.asked(w2) == 1u);
    BOOST_TEST(head.stats().failures == 1u);
    BOOST_TEST((head.state(w2) == node_state::suspect));
  });
}

BOOST_AUTO_TEST_CASE(a_doubled_reply_counts_once) {
  each_order([](simulated_head& head) {
    head.decide = [](auto&) { return conduct::answer_twice; };
    head.open_all();
    head.run();
    check_all_done(head);
  });
}

BOOST_AUTO_TEST_CASE(without_fallback_a_lost_node_fails_the_sequences) {
  simulated_head head{{.fallback = local_fallback::no}};
  head.decide = hold_from(4);
  head.open_all();
  head.run();
  head.lose(w1);
  head.run();
  for (auto& failure : head.failures()) {
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code == ec::node_down));
    for (auto text : {"layer ", "expert ", "w1"})
      BOOST_TEST(failure->message.find(text) != std::string::npos);
  }
  BOOST_TEST(head.asked(local_node) == 0u);
}

BOOST_AUTO_TEST_CASE(a_silent_fallback_fails_the_pass_at_its_deadline) {
  simulated_head head{{.nodes = 0}};
  head.decide = [](auto&) { return conduct::hold; };
  head.open_all();
  head.run();
  head.advance(seconds(119));
  BOOST_TEST(!head.ends().front().has_value());
  head.advance(seconds(2));
  auto failure = head.failures().front();
  BOOST_REQUIRE(failure.has_value());
  BOOST_TEST((failure->code == ec::deadline_exceeded));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::testing
