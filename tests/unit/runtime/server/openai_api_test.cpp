#include "runtime/server/openai_api.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace troupe;
using json = nlohmann::json;

namespace {

completion_limits limits() {
  completion_limits x;
  x.model_name = "demo";
  x.vocab_size = 100;
  x.context_tokens = 8;
  x.defaults.temperature = 0.7f;
  x.defaults.max_tokens = 16;
  return x;
}

auto parse(std::string_view body) {
  return parse_completion(body, limits(), 99);
}

completion_call parsed(std::string_view body) {
  auto got = parse(body);
  BOOST_TEST_REQUIRE(got.has_value(), got.error().message);
  return *got;
}

const std::string& text_of(const completion_call& x) {
  return std::get<std::string>(x.request.prompt);
}

const std::vector<token_id>& ids_of(const completion_call& x) {
  return std::get<std::vector<token_id>>(x.request.prompt);
}

struct broken_body {
  std::string body;
  std::string param;   ///< Field the answer blames.
  std::string message; ///< Part of the message.
};

/// A body that is right but for one more field.
std::string with(const std::string& field) {
  return R"({"prompt":"x",)" + field + "}";
}

const std::vector<broken_body> broken_bodies{
  {"", "", "not valid JSON"},
  {"{", "", "at byte 2 of 1"},
  {R"({"prompt":"x"} {})", "", "not valid JSON"},
  {"{\"prompt\":\"\xff\xfe\"}", "", "UTF-8"},
  {"\x01\x02garbage", "", "not valid JSON"},
  {R"(["x"])", "", "expected a JSON object, found a list of 1"},
  {"null", "", "expected a JSON object, found null"},
  {std::string(100'000, '['), "", "nested"},
  {R"({"prompt":)" + std::string(40, '[') + std::string(40, ']') + "}", "",
   "nested"},
  {with(R"("temperature":1e999)"), "", "number"},
  {"{}", "prompt", "not empty, found null"},
  {R"({"prompt":null})", "prompt", "not empty"},
  {R"({"prompt":""})", "prompt", "found \"\""},
  {R"({"prompt":7})", "prompt", "found 7"},
  {R"({"prompt":{}})", "prompt", "found an object"},
  {R"({"prompt":[]})", "prompt", "found a list of 0"},
  {R"({"prompt":[[]]})", "prompt", "found a list of 0"},
  {R"({"prompt":["a","b"]})", "prompt", "one prompt per request"},
  {R"({"prompt":[[1],[2]]})", "prompt", "one prompt per request"},
  {R"({"prompt":[1,"b"]})", "prompt[1]", "a token id from 0 to 99"},
  {R"({"prompt":[1,100]})", "prompt[1]", "found 100"},
  {R"({"prompt":[-1]})", "prompt[0]", "found -1"},
  {R"({"prompt":[1.5]})", "prompt[0]", "found 1.5"},
  {R"({"prompt":[1,2,3,4,5,6,7,8]})", "prompt", "fewer than 8 tokens"},
  {with(R"("model":"gpt-4")"), "model", "expected \"demo\""},
  {with(R"("model":3)"), "model", "a string"},
  {with(R"("max_tokens":0)"), "max_tokens", "from 1 to"},
  {with(R"("max_tokens":-1)"), "max_tokens", "found -1"},
  {with(R"("max_tokens":1.5)"), "max_tokens", "an integer"},
  {with(R"("max_tokens":"10")"), "max_tokens", "found \"10\""},
  {with(R"("max_tokens":99999999999999999999)"), "max_tokens", "integer"},
  {with(R"("temperature":-0.1)"), "temperature", "from 0 to 100"},
  {with(R"("temperature":101)"), "temperature", "from 0 to 100"},
  {with(R"("temperature":"hot")"), "temperature", "found \"hot\""},
  {with(R"("top_p":0)"), "top_p", "above 0"},
  {with(R"("top_p":1.1)"), "top_p", "found 1.1"},
  {with(R"("min_p":-1)"), "min_p", "from 0 to 1"},
  {with(R"("top_k":-2)"), "top_k", "found -2"},
  {with(R"("top_k":5000000000)"), "top_k", "an integer"},
  {with(R"("seed":-1)"), "seed", "an integer from 0"},
  {with(R"("seed":1.5)"), "seed", "an integer from 0"},
  {with(R"("ignore_eos":1)"), "ignore_eos", "true or false"},
  {with(R"("stream":"yes")"), "stream", "true or false"},
  {with(R"("stop":"")"), "stop", "1 to 1024 bytes"},
  {with(R"("stop":5)"), "stop", "found 5"},
  {with(R"("stop":["a",""])"), "stop[1]", "1 to 1024 bytes"},
  {with(R"("stop":["a",null])"), "stop[1]", "found null"},
  {with(R"("stop":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17])"), "stop",
   "at most 16"},
  {with(R"("stop":")" + std::string(1025, 's') + "\""), "stop", "1024"},
  {with(R"("stop_token_ids":[100])"), "stop_token_ids[0]", "0 to 99"},
  {with(R"("stop_token_ids":3)"), "stop_token_ids", "a list"},
  {with(R"("stream_options":{"include_usage":true})"), "stream_options",
   "stream = true"},
  {with(R"("stream":true,"stream_options":{"include_usage":3})"),
   "include_usage", "true or false"},
  {with(R"("n":2)"), "n", "expected 1"},
  {with(R"("n":"1")"), "n", "expected 1"},
  {with(R"("best_of":3)"), "best_of", "not supported"},
  {with(R"("echo":true)"), "echo", "not supported"},
  {with(R"("suffix":"end")"), "suffix", "not supported"},
  {with(R"("logprobs":3)"), "logprobs", "not supported"},
  {with(R"("logit_bias":{"5":1})"), "logit_bias", "not supported"},
  {with(R"("presence_penalty":0.5)"), "presence_penalty", "not supported"},
  {with(R"("frequency_penalty":1)"), "frequency_penalty", "not supported"},
};

} // namespace

BOOST_AUTO_TEST_SUITE(openai_api_suite)

BOOST_AUTO_TEST_CASE(every_broken_body_is_refused_and_its_field_named) {
  for (const auto& [body, param, message] : broken_bodies) {
    BOOST_TEST_CONTEXT(body.substr(0, 100)) {
      auto got = parse(body);
      BOOST_TEST_REQUIRE(!got.has_value());
      const auto& problem = got.error();
      BOOST_TEST(problem.status ==
                 (problem.code == "model_not_found" ? 404u : 400u));
      BOOST_TEST(problem.type == "invalid_request_error");
      BOOST_TEST(problem.param == param);
      BOOST_TEST(problem.message.find(message) != std::string::npos,
                 problem.message);
      BOOST_TEST(problem.message.starts_with(param));
    }
  }
}

BOOST_AUTO_TEST_CASE(left_out_fields_have_the_defaults_of_the_model) {
  auto got = parsed(R"({"prompt":"Once"})");
  BOOST_TEST(text_of(got) == "Once");
  BOOST_TEST((got.how == delivery::whole));
  auto expected = limits().defaults;
  expected.seed = 99;
  BOOST_TEST((got.request.params == expected));
}

BOOST_AUTO_TEST_CASE(null_means_left_out) {
  auto got = parsed(R"({"prompt":"x","max_tokens":null,"stop":null,
                        "seed":null,"logprobs":null,"stream":null})");
  BOOST_TEST(got.request.params.max_tokens == 16u);
  BOOST_TEST(got.request.params.seed == 99u);
}

BOOST_AUTO_TEST_CASE(all_fields_are_read) {
  auto got = parsed(R"({"model":"demo","prompt":[1,2,99],"max_tokens":5,
    "temperature":0,"top_p":0.5,"min_p":0.25,"top_k":40,"ignore_eos":true,
    "seed":18446744073709551615,"stop":["\n\n","END"],"stop_token_ids":[3],
    "stream":true})");
  BOOST_TEST((ids_of(got) == std::vector<token_id>{1, 2, 99}));
  const auto& params = got.request.params;
  BOOST_TEST(params.max_tokens == 5u);
  BOOST_TEST(params.temperature == 0.0f);
  BOOST_TEST(params.top_p == 0.5f);
  BOOST_TEST(params.min_p == 0.25f);
  BOOST_TEST(params.top_k == 40u);
  BOOST_TEST(params.ignore_eos);
  BOOST_TEST(params.seed == 18446744073709551615u);
  BOOST_TEST((params.stop == std::vector<std::string>{"\n\n", "END"}));
  BOOST_TEST((params.stop_ids == std::vector<token_id>{3}));
  BOOST_TEST((got.how == delivery::stream));
}

BOOST_AUTO_TEST_CASE(unknown_fields_and_neutral_values_are_accepted) {
  parsed(R"({"prompt":"x","user":"me","frobnicate":[{}],"n":1,"best_of":1,
             "echo":false,"suffix":"","logit_bias":{},"presence_penalty":0,
             "frequency_penalty":0.0,"top_k":-1})");
}

BOOST_AUTO_TEST_CASE(a_list_of_one_prompt_is_that_prompt) {
  BOOST_TEST(text_of(parsed(R"({"prompt":["only"]})")) == "only");
  BOOST_TEST(
    (ids_of(parsed(R"({"prompt":[[4,5]]})")) == std::vector<token_id>{4, 5}));
}

BOOST_AUTO_TEST_CASE(brackets_inside_strings_are_not_nesting) {
  auto text = std::string(100, '[') + "\\\"" + std::string(100, '{');
  parsed(R"({"prompt":")" + text + "\"}");
}

BOOST_AUTO_TEST_CASE(usage_is_streamed_when_asked_for) {
  auto got = parsed(R"({"prompt":"x","stream":true,
                        "stream_options":{"include_usage":true}})");
  BOOST_TEST((got.how == delivery::stream_with_usage));
}

BOOST_AUTO_TEST_CASE(the_whole_document_has_text_usage_and_our_statistics) {
  completion_end end;
  end.reason = finish_reason::length;
  end.prompt_tokens = 3;
  end.completion_tokens = 2;
  end.stats.remote_pairs = 10;
  end.stats.rerouted_pairs = 1;
  auto got = json::parse(completion_document({"cmpl-1", "demo", 1700000000, 42},
                                             {"Hi", {7, 8}}, end));
  BOOST_TEST(got["id"] == "cmpl-1");
  BOOST_TEST(got["object"] == "text_completion");
  BOOST_TEST(got["created"] == 1700000000);
  BOOST_TEST(got["model"] == "demo");
  BOOST_TEST(got["choices"].size() == 1u);
  BOOST_TEST(got["choices"][0]["text"] == "Hi");
  BOOST_TEST(got["choices"][0]["index"] == 0);
  BOOST_TEST(got["choices"][0]["finish_reason"] == "length");
  BOOST_TEST(got["usage"]["total_tokens"] == 5);
  BOOST_TEST(got["troupe"]["ids"] == (json{7, 8}));
  BOOST_TEST(got["troupe"]["seed"] == 42);
  BOOST_TEST(got["troupe"]["pairs"]["remote"] == 10);
  BOOST_TEST(got["troupe"]["pairs"]["rerouted"] == 1);
}

BOOST_AUTO_TEST_CASE(streamed_documents_share_the_header) {
  completion_header header{"cmpl-1", "demo", 5, 42};
  auto piece = json::parse(piece_document(header, {"Hi", {7}}));
  BOOST_TEST(piece["choices"][0]["text"] == "Hi");
  BOOST_TEST(piece["choices"][0]["finish_reason"].is_null());
  BOOST_TEST(piece["troupe"]["ids"] == json::array({7}));
  auto end = json::parse(end_document(header, {}));
  BOOST_TEST(end["choices"][0]["finish_reason"] == "stop");
  BOOST_TEST(end["choices"][0]["text"] == "");
  BOOST_TEST(end["troupe"]["seed"] == 42);
  auto usage = json::parse(usage_document(header, {}));
  BOOST_TEST(usage["choices"].empty());
  BOOST_TEST(usage["usage"]["total_tokens"] == 0);
  BOOST_TEST(piece["id"] == end["id"]);
  BOOST_TEST(piece["id"] == usage["id"]);
}

BOOST_AUTO_TEST_CASE(text_that_is_not_utf8_is_replaced_and_not_thrown) {
  auto got = json::parse(piece_document({}, {"a\xff", {}}));
  BOOST_TEST(got["choices"][0]["text"] == "a\xef\xbf\xbd");
}

BOOST_AUTO_TEST_CASE(error_documents_have_the_fields_clients_look_for) {
  auto got = json::parse(
    error_document({400, "n: \"\xff\"", "invalid_request_error", "c", "n"}));
  BOOST_TEST(got["error"]["type"] == "invalid_request_error");
  BOOST_TEST(got["error"]["code"] == "c");
  BOOST_TEST(got["error"]["param"] == "n");
  BOOST_TEST(got["error"]["message"] == "n: \"\xef\xbf\xbd\"");
  auto without = json::parse(error_document({}));
  BOOST_TEST(without["error"]["param"].is_null());
}

BOOST_AUTO_TEST_CASE(failures_have_the_status_that_tells_who_can_help) {
  auto status = [](ec code) {
    auto got = to_api_error({code, "m"});
    BOOST_TEST(got.code == to_string(code));
    BOOST_TEST(got.message == "m");
    return got.status;
  };
  BOOST_TEST(status(ec::invalid_argument) == 400u);
  BOOST_TEST(status(ec::not_found) == 404u);
  BOOST_TEST(status(ec::overloaded) == 503u);
  BOOST_TEST(status(ec::expert_unavailable) == 503u);
  BOOST_TEST(status(ec::deadline_exceeded) == 504u);
  BOOST_TEST(status(ec::internal) == 500u);
}

BOOST_AUTO_TEST_CASE(the_model_is_listed) {
  auto got = json::parse(models_document(limits(), 5));
  BOOST_TEST(got["object"] == "list");
  BOOST_TEST(got["data"][0]["id"] == "demo");
  BOOST_TEST(got["data"][0]["object"] == "model");
}

BOOST_AUTO_TEST_SUITE_END()
