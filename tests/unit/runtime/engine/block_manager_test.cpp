// Blocks are handed out once, come back once, and never get lost.
#include "runtime/engine/block_manager.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <set>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(block_managers)

BOOST_AUTO_TEST_CASE(a_table_grows_by_whole_blocks) {
  block_manager blocks{4, 16};
  block_table table;
  BOOST_TEST(blocks.allocate(table, 1));
  BOOST_TEST(table.ids.size() == 1u);
  BOOST_TEST(blocks.allocate(table, 16));
  BOOST_TEST(table.ids.size() == 1u);
  BOOST_TEST(blocks.allocate(table, 17));
  BOOST_TEST(table.ids.size() == 2u);
  BOOST_TEST(blocks.blocks_free() == 2u);
  BOOST_TEST(blocks.capacity_tokens() == 64u);
}

BOOST_AUTO_TEST_CASE(too_large_a_wish_changes_nothing) {
  block_manager blocks{4, 16};
  block_table table;
  BOOST_TEST_REQUIRE(blocks.allocate(table, 20));
  const auto before = table.ids;
  BOOST_TEST(!blocks.allocate(table, 65));
  BOOST_TEST(table.ids == before, boost::test_tools::per_element());
  BOOST_TEST(blocks.blocks_free() == 2u);
}

BOOST_AUTO_TEST_CASE(an_empty_wish_takes_no_block) {
  block_manager blocks{1, 16};
  block_table table;
  BOOST_TEST(blocks.allocate(table, 0));
  BOOST_TEST(table.ids.empty());
  BOOST_TEST(blocks.blocks_for(~0u) == (1u << 28));
}

BOOST_AUTO_TEST_CASE(each_table_has_one_state_while_it_has_blocks) {
  block_manager blocks{8, 16, {.count = 2}};
  block_table a;
  block_table b;
  block_table c;
  BOOST_TEST(blocks.allocate(a, 1));
  BOOST_TEST(blocks.allocate(a, 40));
  BOOST_TEST(blocks.allocate(b, 1));
  BOOST_TEST(blocks.states_free() == 0U);
  BOOST_TEST((a.state.has_value() && b.state.has_value()));
  BOOST_TEST(*a.state != *b.state);
  const auto before = blocks.blocks_free();
  BOOST_TEST(!blocks.allocate(c, 1));
  BOOST_TEST((c.ids.empty() && !c.state.has_value()));
  BOOST_TEST(blocks.blocks_free() == before);
  blocks.deallocate(a);
  BOOST_TEST(!a.state.has_value());
  BOOST_TEST(blocks.allocate(c, 1));
  BOOST_TEST(c.state.has_value());
}

BOOST_AUTO_TEST_CASE(random_use_never_shares_or_leaks_a_block) {
  const auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  block_manager blocks{50, 8};
  std::vector<block_table> tables(9);
  for (int step = 0; step < 5000; ++step) {
    auto& table = tables[random() % tables.size()];
    if (random() % 3 == 0)
      blocks.deallocate(table);
    else
      (void)blocks.allocate(table, static_cast<uint32_t>(random() % 200));
    std::set<uint32_t> seen;
    size_t held = 0;
    for (const auto& x : tables) {
      held += x.ids.size();
      seen.insert(x.ids.begin(), x.ids.end());
    }
    BOOST_TEST_REQUIRE(seen.size() == held);
    BOOST_TEST_REQUIRE(held + blocks.blocks_free() == blocks.blocks());
    BOOST_TEST_REQUIRE((seen.empty() || *seen.rbegin() < blocks.blocks()));
  }
  for (auto& table : tables)
    blocks.deallocate(table);
  BOOST_TEST(blocks.blocks_free() == blocks.blocks());
}

BOOST_AUTO_TEST_SUITE_END()
