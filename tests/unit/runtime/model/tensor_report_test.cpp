// Thousands of differences in a few lines.
#include "runtime/model/tensor_report.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe;

namespace {

const tensor_report::size_names names{{"num_layers", "num_hidden_layers"}};

std::string text_of(const tensor_report& x, uint64_t num_layers = 48) {
  BOOST_REQUIRE(!x.good());
  auto failed = x.as_error("dir", num_layers, names);
  BOOST_TEST((failed.code == ec::shape_mismatch));
  return failed.message;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(tensor_report_suite)

BOOST_AUTO_TEST_CASE(experts_of_all_layers_are_one_line) {
  tensor_report x;
  BOOST_TEST(x.good());
  for (int layer = 0; layer < 48; ++layer)
    for (int expert = 0; expert < 128; ++expert)
      x.missing(fmt::format("model.layers.{}.mlp.experts.{}.gate_proj.weight",
                            layer, expert));
  x.left_over("model.extra");
  auto text = text_of(x);
  BOOST_TEST(has(text, "dir: the tensors do not fit config.json: 6144 missing, "
                       "1 left over"));
  BOOST_TEST(has(text, "model.layers.{0-47}.mlp.experts.{0-127}.gate_proj."
                       "weight: missing, 6144 tensors"));
  BOOST_TEST(has(text, "model.extra: left over"));
  BOOST_TEST(text.size() < 300u);
}

BOOST_AUTO_TEST_CASE(equal_misfits_are_one_line_with_the_first_file) {
  tensor_report x;
  for (int layer = 0; layer < 3; ++layer)
    x.misfit({fmt::format("layers.{}.q", layer), fmt::format("f{}", layer),
              "shape [4, 4]", "BF16[8, 4]"});
  x.misfit({"layers.3.q", "f3", "shape [4, 4]", "BF16[9, 4]"});
  auto text = text_of(x);
  BOOST_TEST(has(text, "4 of another shape or type"));
  BOOST_TEST(has(text, "f0: layers.{0-2}.q: expected shape [4, 4], found "
                       "BF16[8, 4], 3 tensors"));
  BOOST_TEST(has(text, "f3: layers.3.q: expected shape [4, 4], found "
                       "BF16[9, 4]"));
}

BOOST_AUTO_TEST_CASE(a_size_that_most_tensors_contradict_is_named) {
  tensor_report x;
  x.misfit({"a", "f", "shape [2048]", "BF16[4096]"});
  for (int i = 0; i < 9; ++i)
    x.compare_size("hidden_size", 2048, 4096);
  x.compare_size("hidden_size", 2048, 2048);
  // One odd tensor says nothing of config.json.
  x.compare_size("vocab_size", 100, 101);
  x.compare_size("vocab_size", 100, 100);
  x.compare_size("vocab_size", 100, 100);
  auto text = text_of(x);
  BOOST_TEST(has(text,
                 "hidden_size is 2048 in config.json, but 9 of 10 tensors "
                 "with it have 4096"));
  BOOST_TEST(has(text, "another model"));
  BOOST_TEST(!has(text, "vocab_size is"));
}

BOOST_AUTO_TEST_CASE(another_number_of_layers_is_named) {
  tensor_report x;
  x.missing("layers.24.norm");
  for (uint64_t layer = 0; layer < 24; ++layer)
    x.found_layer(layer);
  BOOST_TEST(has(text_of(x, 48), "num_hidden_layers is 48 in config.json, but "
                                 "the tensors end with layer 23"));
  BOOST_TEST(!has(text_of(x, 24), "num_hidden_layers"));
}

BOOST_AUTO_TEST_CASE(a_report_has_a_bound) {
  tensor_report x;
  for (char a = 'a'; a <= 'z'; ++a)
    for (char b = 'a'; b <= 'z'; ++b)
      x.left_over(fmt::format("{}{}", a, b));
  auto text = text_of(x);
  BOOST_TEST(has(text, "676 left over"));
  BOOST_TEST(has(text, "and 652 more kinds of tensors"));
  BOOST_TEST(text.size() < 2000u);
}

BOOST_AUTO_TEST_SUITE_END()
