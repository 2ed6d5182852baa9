#include "actors/expert/expert_store.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace troupe;

namespace {

constexpr layer_index layer{0};

/// A store whose experts have one 64 x 64 weight each, and a log of its loads.
struct store_fixture {
  explicit store_fixture(uint64_t experts_max)
    : store({experts_max * bytes(), bytes()},
            [this](layer_index, expert_id e) { return load(e); }) {
    // nop
  }

  static kernels::compute_options options() {
    return {kernels::isa::scalar, kernels::numeric_mode::bf16};
  }

  static uint64_t bytes() {
    return 3 * kernels::packed_weight::bytes_needed(64, 64, options());
  }

  result<expert_ptr> load(expert_id expert) {
    loads.push_back(expert.value);
    if (expert.value == 99)
      return fail(ec::io, "the disk is gone");
    std::vector<float> zeros(64 * 64);
    auto source = kernels::as_activation(zeros.data(), 64, 64);
    auto ffn = std::make_shared<kernels::expert_ffn>();
    ffn->gate = kernels::packed_weight::pack(source, options());
    ffn->up = kernels::packed_weight::pack(source, options());
    ffn->down = kernels::packed_weight::pack(source, options());
    return expert_ptr{std::move(ffn)};
  }

  expert_ptr acquire(uint32_t expert) {
    return store.acquire(layer, expert_id{expert}).value();
  }

  std::vector<uint32_t> loads;
  expert_store store;
};

} // namespace

BOOST_AUTO_TEST_SUITE(expert_store_suite)

BOOST_AUTO_TEST_CASE(an_expert_is_loaded_once_while_it_is_held) {
  store_fixture x{2};
  auto first = x.acquire(1);
  BOOST_TEST(x.acquire(1) == first);
  BOOST_TEST(x.loads.size() == 1u);
  BOOST_TEST(x.store.stats().hits == 1u);
  BOOST_TEST(x.store.stats().bytes == x.bytes());
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_expert_makes_room) {
  store_fixture x{2};
  x.acquire(1);
  x.acquire(2);
  x.acquire(1);
  x.acquire(3); // evicts 2
  x.acquire(1);
  BOOST_TEST(x.loads == (std::vector<uint32_t>{1, 2, 3}),
             boost::test_tools::per_element());
  x.acquire(2);
  BOOST_TEST(x.loads.back() == 2u);
  BOOST_TEST(x.store.stats().evictions == 2u);
  BOOST_TEST(x.store.stats().experts == 2u);
  BOOST_TEST(x.store.stats().bytes <= 2 * x.bytes());
}

BOOST_AUTO_TEST_CASE(an_expert_in_use_outlives_its_eviction) {
  store_fixture x{1};
  auto held = x.acquire(1);
  x.acquire(2);
  BOOST_TEST(held->gate.outputs() == 64u);
}

BOOST_AUTO_TEST_CASE(a_failed_load_is_reported_and_tried_again) {
  store_fixture x{2};
  auto failed = x.store.acquire(layer, expert_id{99});
  BOOST_REQUIRE(!failed.has_value());
  BOOST_TEST((failed.error().code == ec::io));
  auto again = x.store.acquire(layer, expert_id{99});
  BOOST_TEST(!again.has_value());
  BOOST_TEST(x.loads.size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_is_not_retained_is_dropped) {
  store_fixture x{4};
  x.acquire(1);
  x.acquire(2);
  x.store.retain([](layer_index, expert_id e) { return e.value == 2; });
  BOOST_TEST(x.store.stats().experts == 1u);
  x.acquire(2);
  BOOST_TEST(x.loads.size() == 2u);
}

BOOST_AUTO_TEST_CASE(no_more_is_preloaded_than_may_be_held) {
  store_fixture x{2};
  kernels::lanes alone{{.count = 0}};
  const std::vector<expert_key> wanted{
    {layer, expert_id{4}}, {layer, expert_id{5}}, {layer, expert_id{6}}};
  BOOST_TEST(x.store.preload(wanted, alone).has_value());
  BOOST_TEST(x.loads == (std::vector<uint32_t>{4, 5}),
             boost::test_tools::per_element());
  BOOST_TEST(x.store.stats().evictions == 0u);
}

BOOST_AUTO_TEST_CASE(a_preload_says_which_expert_is_not_there) {
  store_fixture x{3};
  kernels::lanes alone{{.count = 0}};
  const std::vector<expert_key> wanted{{layer, expert_id{99}},
                                       {layer, expert_id{5}}};
  const auto done = x.store.preload(wanted, alone);
  BOOST_TEST_REQUIRE(!done.has_value());
  BOOST_TEST((done.error().code == ec::io));
}

BOOST_AUTO_TEST_SUITE_END()
