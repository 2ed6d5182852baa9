#include "runtime/cache/slot_format.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

const std::string identity(slot_identity_bytes, 'a');
const std::string another(slot_identity_bytes, 'b');

slot_layout layout_of(std::vector<uint64_t> capacities) {
  return slot_layout::of(std::move(capacities)).value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(slot_format_suite)

BOOST_AUTO_TEST_CASE(slots_follow_each_other_on_whole_pages) {
  const auto x = layout_of({5000, 4096, 1, 100'000'000});
  BOOST_TEST(x.entry_begin(3) == 4096u + 3 * 64);
  BOOST_TEST(x.data_begin() == uint64_t{2} << 20);
  BOOST_TEST(x.slot_begin(1) == x.data_begin() + 8192);
  BOOST_TEST(x.slot_begin(2) == x.slot_begin(1) + 4096);
  BOOST_TEST(x.slot_begin(3) == x.slot_begin(2) + 4096);
  BOOST_TEST(x.file_bytes() == x.slot_begin(3) + 100'003'840);
}

BOOST_AUTO_TEST_CASE(a_large_table_moves_the_data) {
  const auto x = layout_of(std::vector<uint64_t>(100'000, 1));
  BOOST_TEST(x.data_begin() == uint64_t{8} << 20);
}

BOOST_AUTO_TEST_CASE(slots_that_no_file_can_hold_are_refused) {
  BOOST_TEST(!slot_layout::of({UINT64_MAX}).has_value());
  BOOST_TEST(!slot_layout::of({uint64_t{1} << 61, uint64_t{1} << 61}));
  BOOST_TEST(!slot_layout::of(std::vector<uint64_t>(8, UINT64_MAX / 8)));
}

BOOST_AUTO_TEST_CASE(a_header_is_known_again_whatever_its_note_says) {
  const auto layout = layout_of({100, 200});
  const slot_plan plan{identity, "from a", {100, 200}};
  const auto mine = make_slot_header(plan, layout);
  const slot_plan same{identity, "from b", {100, 200}};
  BOOST_TEST(is_header_of(make_slot_header(same, layout), mine));
  BOOST_TEST(note_of(mine).value() == "from a");
  const slot_plan other{another, "from a", {100, 200}};
  BOOST_TEST(!is_header_of(make_slot_header(other, layout), mine));
  const slot_plan larger{identity, "from a", {100, 20000}};
  BOOST_TEST(
    !is_header_of(make_slot_header(larger, layout_of({100, 20000})), mine));
}

BOOST_AUTO_TEST_CASE(a_damaged_header_is_no_header) {
  const slot_plan plan{identity, "note", {100}};
  const auto intact = make_slot_header(plan, layout_of({100}));
  for (size_t i : {0U, 17U, 60U, 115U, 3000U, 4090U}) {
    auto damaged = intact;
    damaged[i] ^= std::byte{1};
    BOOST_TEST(!is_header_of(damaged, intact), "byte " << i);
    BOOST_TEST(!note_of(damaged).has_value(), "byte " << i);
  }
  BOOST_TEST(!note_of(slot_header{}).has_value());
}

BOOST_AUTO_TEST_CASE(a_long_note_is_cut) {
  const slot_plan plan{identity, std::string(10'000, 'x'), {100}};
  const auto header = make_slot_header(plan, layout_of({100}));
  BOOST_TEST(note_of(header).value() == std::string(slot_note_bytes, 'x'));
}

BOOST_AUTO_TEST_CASE(an_entry_counts_for_its_slot_and_its_file_only) {
  const slot_seal seal{50, {1, 2, 3, 4}};
  const auto entry = make_slot_entry(identity, 7, seal);
  BOOST_TEST((read_slot_entry(entry, identity, 7, 100) == seal));
  BOOST_TEST(!read_slot_entry(entry, identity, 8, 100));
  BOOST_TEST(!read_slot_entry(entry, another, 7, 100));
  BOOST_TEST(!read_slot_entry(entry, identity, 7, 49)); // beyond its capacity
}

BOOST_AUTO_TEST_CASE(zeros_and_damaged_entries_are_empty_slots) {
  BOOST_TEST(!read_slot_entry(slot_entry{}, identity, 0, 100));
  const auto entry = make_slot_entry(identity, 0, {50, {1, 2, 3, 4}});
  for (size_t i = 0; i < entry.size(); ++i) {
    auto damaged = entry;
    damaged[i] ^= std::byte{0x10};
    BOOST_TEST(!read_slot_entry(damaged, identity, 0, 100), "byte " << i);
  }
}

BOOST_AUTO_TEST_SUITE_END()
