// Stop ids and sampling defaults of a checkpoint folder.
#include "runtime/model/generation_config.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

result<generation_config> parse(std::string_view generation,
                                std::string_view config = "{}") {
  return parse_generation_config(generation, config, "m", 100);
}

} // namespace

BOOST_AUTO_TEST_SUITE(generation_config_suite)

BOOST_AUTO_TEST_CASE(stop_ids_are_one_or_many) {
  BOOST_TEST(
    (parse(R"({"eos_token_id":1})")->eos_ids == std::vector<token_id>{1}));
  BOOST_TEST((parse(R"({"eos_token_id":[1,5]})")->eos_ids ==
              std::vector<token_id>{1, 5}));
  BOOST_TEST(parse(R"({"eos_token_id":null})")->eos_ids.empty());
}

BOOST_AUTO_TEST_CASE(config_json_is_the_fallback) {
  auto config = R"({"eos_token_id":7,"bos_token_id":3})";
  BOOST_TEST((parse("", config)->eos_ids == std::vector<token_id>{7}));
  BOOST_TEST((parse("{}", config)->eos_ids == std::vector<token_id>{7}));
  auto x = parse(R"({"eos_token_id":[9]})", config);
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST((x->eos_ids == std::vector<token_id>{9}));
  BOOST_TEST(x->bos_id.value() == 3);
}

BOOST_AUTO_TEST_CASE(the_demo_model_samples_by_default) {
  auto x = read_generation_config("models/demo", 4096);
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST(x->do_sample);
  BOOST_TEST(x->temperature == 0.7);
  BOOST_TEST(x->top_k == 40u);
  BOOST_TEST(x->top_p == 0.95);
  BOOST_TEST((x->eos_ids == std::vector<token_id>{0}));
}

BOOST_AUTO_TEST_CASE(every_bad_value_is_refused_by_name) {
  const std::pair<const char*, const char*> rows[]{
    {R"({"eos_token_id":100})", "eos_token_id: expected a token id below 100"},
    {R"({"eos_token_id":-1})", "eos_token_id"},
    {R"({"eos_token_id":[1,"2"]})", "eos_token_id"},
    {R"({"eos_token_id":1.5})", "eos_token_id"},
    {R"({"bos_token_id":"<s>"})", "bos_token_id"},
    {R"({"temperature":-0.1})", "temperature"},
    {R"({"temperature":"hot"})", "temperature"},
    {R"({"top_p":0})", "top_p"},
    {R"({"top_p":1.1})", "top_p"},
    {R"({"top_k":-1})", "top_k"},
    {R"({"min_p":2})", "min_p"},
    {R"({"do_sample":1})", "do_sample"},
    {"[]", "expected an object"},
    {"{", "not valid JSON"}};
  for (auto& [text, what] : rows) {
    auto x = parse(text);
    BOOST_TEST_CONTEXT(text) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST(x.error().message.find("m/generation_config.json") == 0u);
      BOOST_TEST(x.error().message.find(what) != std::string::npos,
                 x.error().message);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
