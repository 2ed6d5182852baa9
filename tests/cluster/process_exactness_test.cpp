// The tokens are the same however they are computed: a selection in which each
// value of each dimension occurs at least once, short enough for every run of
// the tests. tests/cluster/process_matrix_test.cpp has all of it.
#include "tests/cluster/process_scenario.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

namespace {

constexpr auto greedy = token_choice::greedy;
constexpr auto sampled = token_choice::sampled;
constexpr auto tokens = 100u;

void check_all(std::vector<scenario> all) {
  for (auto& x : all) {
    x.tokens = tokens;
    check_same_tokens(x);
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(exactness_in_short)

BOOST_AUTO_TEST_CASE(one_process_gives_the_same_tokens_whatever_the_batches) {
  check_all({
    {.prefill_chunk = 1, .lanes = 2},
    {.dtype = "f32", .choice = sampled, .prefill_chunk = 7, .lanes = 2},
    {.choice = sampled, .prefill_chunk = 64, .beside = company::eight},
  });
}

BOOST_AUTO_TEST_CASE(nodes_placements_chunks_and_lanes_leave_the_tokens_alone) {
  check_all({
    {.workers = 1, .prefill_chunk = 64, .lanes = 2},
    {.dtype = "f32",
     .workers = 2,
     .placement = "weighted",
     .prefill_chunk = 7,
     .worker_lanes = 2},
    {.dtype = "f32", .choice = sampled, .workers = 3, .beside = company::eight},
    {.choice = sampled, .workers = 3, .placement = "local", .prefill_chunk = 1},
    {.workers = 5,
     .placement = "weighted",
     .prefill_chunk = 7,
     .lanes = 2,
     .beside = company::eight},
    {.workers = 3, .beside = company::alone, .prompt = 2},
  });
}

BOOST_AUTO_TEST_CASE(instruction_sets_may_be_mixed_in_bf16) {
  check_all({
    {.beside = company::alone, .prompt = 1, .isa = "avx512"},
    {.workers = 2, .isa = "amx", .worker_isa = {"avx512", "avx2"}},
    {.choice = sampled,
     .workers = 2,
     .isa = "avx512",
     .worker_isa = {"avx2", "amx"}},
    {.workers = 2,
     .placement = "weighted",
     .isa = "avx2",
     .worker_isa = {"amx", "avx512"}},
  });
}

BOOST_AUTO_TEST_CASE(killed_nodes_leave_the_tokens_alone) {
  check_all({
    {.workers = 3, .faults = {"kill:w2@token=0"}},
    {.choice = sampled, .workers = 3, .faults = {"kill:w1@token=1"}},
    {.dtype = "f32", .workers = 3, .faults = {"kill:w2@token=10"}},
    {.dtype = "f32",
     .choice = sampled,
     .workers = 2,
     .placement = "weighted",
     .faults = {"kill:w2@token=63"}},
    {.workers = 3, .prefill_chunk = 7, .faults = {"kill:w3@prefill=1"}},
    {.workers = 3,
     .beside = company::alone,
     .prompt = 1,
     .faults = {"kill:w2@layer=3"}},
    {.choice = sampled,
     .workers = 3,
     .beside = company::eight,
     .faults = {"kill:w1@token=10", "kill:w3@token=10"}},
    {.workers = 3, .faults = {"kill:*@token=10"}},
  });
}

BOOST_AUTO_TEST_CASE(a_skewed_router_gives_the_same_tokens_on_any_placement) {
  check_all({
    {.workers = 2, .faults = {"route:5=+4"}},
    {.workers = 3, .placement = "local", .faults = {"route:5=+4"}},
  });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::testing
