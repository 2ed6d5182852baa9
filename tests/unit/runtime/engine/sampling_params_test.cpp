#include "runtime/engine/sampling_params.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(sampling_params_suite)

BOOST_AUTO_TEST_CASE(the_defaults_and_the_ends_of_each_range_are_valid) {
  BOOST_TEST(validate({}).has_value());
  sampling_params x;
  x.temperature = temperature_limit;
  x.top_p = std::numeric_limits<float>::min();
  x.min_p = 1;
  x.top_k = std::numeric_limits<uint32_t>::max();
  x.max_tokens = max_tokens_limit;
  x.stop = std::vector<std::string>(16, "stop");
  BOOST_TEST(validate(x).has_value());
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_is_refused_by_name) {
  constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  struct broken {
    const char* field;
    std::function<void(sampling_params&)> change;
  };
  using params = sampling_params;
  const broken cases[] = {
    {"temperature", [](params& x) { x.temperature = -0.1f; }},
    {"temperature", [](params& x) { x.temperature = not_a_number; }},
    {"temperature", [](params& x) { x.temperature = infinity; }},
    {"top_p", [](params& x) { x.top_p = 0; }},
    {"top_p", [](params& x) { x.top_p = 1.001f; }},
    {"top_p", [](params& x) { x.top_p = not_a_number; }},
    {"min_p", [](params& x) { x.min_p = -0.1f; }},
    {"min_p", [](params& x) { x.min_p = 1.1f; }},
    {"min_p", [](params& x) { x.min_p = not_a_number; }},
    {"max_tokens", [](params& x) { x.max_tokens = 0; }},
    {"max_tokens", [](params& x) { x.max_tokens = max_tokens_limit + 1; }},
    {"stop", [](params& x) { x.stop = {""}; }},
    {"stop", [](params& x) { x.stop.assign(17, "a"); }},
    {"stop ids",
     [](params& x) {
       x.stop_ids = {1, -1};
     }},
  };
  for (const auto& one : cases) {
    sampling_params x;
    one.change(x);
    auto checked = validate(x);
    BOOST_REQUIRE_MESSAGE(!checked.has_value(), one.field);
    BOOST_TEST((checked.error().code == ec::invalid_argument));
    BOOST_TEST(checked.error().message.find(one.field) == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
