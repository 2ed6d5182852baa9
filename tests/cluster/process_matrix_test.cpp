// The tokens are the same however they are computed: all combinations. Takes
// about an hour on two cores; `./dev test --long` runs it.
#include "tests/cluster/process_scenario.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

namespace {

constexpr auto choices = {token_choice::greedy, token_choice::sampled};
constexpr auto dtypes = {"bf16", "f32"};
constexpr auto chunks = {1u, 7u, 64u, 0u};
constexpr auto isas = {"amx", "avx512", "avx2"};

/// Calls `f` with a scenario for each number of nodes and each placement.
template <class F>
void each_cluster(scenario x, F f) {
  f(x);
  for (auto workers : {1u, 2u, 3u, 5u})
    for (auto placement : {"round_robin", "weighted", "local"}) {
      x.workers = workers;
      x.placement = placement;
      f(x);
    }
}

/// Calls `f` with a scenario for each dtype and each way to choose tokens.
template <class F>
void each_kind(F f) {
  for (auto dtype : dtypes)
    for (auto choice : choices)
      f(scenario{.dtype = dtype, .choice = choice});
}

const std::vector<std::vector<std::string>> drills{
  {"kill:w2@token=0"},
  {"kill:w2@token=1"},
  {"kill:w2@token=10"},
  {"kill:w2@token=63"},
  {"kill:w2@prefill=1"},
  {"kill:w2@layer=3"},
  {"kill:w1@token=10", "kill:w3@token=10"},
  {"kill:*@token=10"},
  {"stop:w2@token=10"},
};

} // namespace

BOOST_AUTO_TEST_SUITE(exactness_in_full)

BOOST_AUTO_TEST_CASE(clusters_chunks_and_lanes_leave_the_tokens_alone) {
  each_kind([](const scenario& kind) {
    each_cluster(kind, [](scenario x) {
      for (auto chunk : chunks)
        for (auto lanes : {1u, 2u}) {
          x.prefill_chunk = chunk;
          x.lanes = x.worker_lanes = lanes;
          check_same_tokens(x);
        }
    });
  });
}

BOOST_AUTO_TEST_CASE(company_leaves_the_tokens_alone) {
  each_kind([](const scenario& kind) {
    each_cluster(kind, [](scenario x) {
      x.prefill_chunk = 7;
      x.beside = company::eight;
      check_same_tokens(x);
      x.beside = company::alone;
      for (x.prompt = 0; x.prompt < 3; ++x.prompt)
        check_same_tokens(x);
    });
  });
}

BOOST_AUTO_TEST_CASE(instruction_sets_may_be_mixed_in_bf16) {
  const std::vector<std::vector<std::string>> of_nodes{
    {"amx"}, {"avx512"}, {"avx2"}, {"amx", "avx512", "avx2"}};
  for (auto choice : choices)
    for (auto isa : isas) {
      scenario x{.choice = choice, .prefill_chunk = 64, .isa = isa};
      check_same_tokens(x);
      x.workers = 3;
      for (auto& mixed : of_nodes) {
        x.worker_isa = mixed;
        check_same_tokens(x);
      }
    }
}

BOOST_AUTO_TEST_CASE(drills_leave_the_tokens_alone) {
  each_kind([](scenario x) {
    x.workers = 3;
    x.prefill_chunk = 7;
    for (auto& drill : drills)
      for (auto beside : {company::alone, company::three, company::eight})
        for (auto lanes : {1u, 2u}) {
          x.faults = drill;
          x.beside = beside;
          x.prompt = 1;
          x.lanes = lanes;
          check_same_tokens(x);
        }
  });
}

BOOST_AUTO_TEST_CASE(a_skewed_router_gives_the_same_tokens_on_any_placement) {
  each_kind([](scenario x) {
    x.faults = {"route:5=+4", "route:0=-2"};
    each_cluster(x, check_same_tokens);
  });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::testing
