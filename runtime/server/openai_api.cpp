// The reading half of openai_api.hpp; the writing half is
// openai_documents.cpp.
#include "runtime/server/openai_api.hpp"

#include "runtime/server/json_fields.hpp"

#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace troupe {

namespace {

using json = nlohmann::json;

/// Deepest nesting of a body; ours needs 3.
constexpr int depth_max = 32;

/// Checks brackets before the parser builds a tree of them.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > depth_max)
        return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

tl::expected<json, api_error> parse_object(std::string_view body) {
  auto failed = [](std::string message) {
    return tl::unexpected(bad_request("", std::move(message)));
  };
  if (too_deep(body))
    return failed(
      fmt::format("body: nested more than {} levels deep, a completion needs 3",
                  depth_max));
  try {
    auto result = json::parse(body);
    if (!result.is_object())
      return failed(fmt::format("body: expected a JSON object, found {}",
                                in_short(result)));
    return result;
  } catch (const json::parse_error& e) {
    return failed(fmt::format("body: not valid JSON (in UTF-8) at byte {} "
                              "of {}",
                              e.byte, body.size()));
  } catch (const json::exception&) {
    return failed("body: holds a number outside the range of a double");
  }
}

/// Fields that would change the answer and that we do not implement. Each may
/// be present with the one value that asks for nothing.
void refuse_unsupported(field_reader& fields) {
  struct row {
    const char* name;
    const char* expected;
    bool (*asks_for_nothing)(const json&);
  };
  constexpr auto is_one = [](const json& x) {
    return x.is_number_integer() && x == 1;
  };
  constexpr auto is_zero = [](const json& x) {
    return x.is_number() && x == 0;
  };
  constexpr auto is_false = [](const json& x) {
    return x.is_boolean() && x == false;
  };
  constexpr auto is_empty = [](const json& x) {
    return (x.is_object() || x.is_array()) && x.empty();
  };
  constexpr auto is_empty_text = [](const json& x) {
    return x.is_string() && x == "";
  };
  constexpr auto never = [](const json&) { return false; };
  const row rows[] = {
    {"n", "1 (one choice per request)", is_one},
    {"best_of", "1 (not supported)", is_one},
    {"echo", "false (not supported)", is_false},
    {"suffix", "an empty string (not supported)", is_empty_text},
    {"logprobs", "null (not supported)", never},
    {"logit_bias", "an empty object (not supported)", is_empty},
    {"presence_penalty", "0 (not supported)", is_zero},
    {"frequency_penalty", "0 (not supported)", is_zero},
  };
  for (const auto& [name, expected, asks_for_nothing] : rows) {
    const auto* x = fields.find(name);
    if (x != nullptr && !asks_for_nothing(*x))
      fields.refuse(name, expected, *x);
  }
}

/// Reads a list of token ids; `name` is the field for messages.
std::vector<token_id> read_ids(field_reader& fields, const std::string& name,
                               const json& list,
                               const completion_limits& limits) {
  std::vector<token_id> result;
  result.reserve(list.size());
  auto last = uint64_t{limits.vocab_size} - 1;
  for (size_t i = 0; i < list.size(); ++i) {
    auto id = field_reader::as_unsigned(list[i], {0, last});
    if (!id) {
      fields.refuse(fmt::format("{}[{}]", name, i),
                    fmt::format("a token id from 0 to {}", last), list[i]);
      return {};
    }
    result.push_back(static_cast<token_id>(*id));
  }
  return result;
}

void read_prompt(field_reader& fields, const completion_limits& limits,
                 completion_request& request) {
  constexpr const char* expected = "a string or a list of token ids, not empty";
  const auto* x = fields.find("prompt");
  if (x == nullptr) {
    fields.refuse("prompt", expected, nullptr);
    return;
  }
  // Many clients wrap their only prompt in a list.
  bool is_list_of_prompts = x->is_array() && !x->empty() &&
                            (x->front().is_string() || x->front().is_array());
  if (is_list_of_prompts && x->size() > 1) {
    fields.refuse("prompt", "one prompt per request", *x);
    return;
  }
  if (is_list_of_prompts)
    x = &x->front();
  if (x->is_string() && !x->get_ref<const std::string&>().empty()) {
    request.prompt = x->get<std::string>();
    return;
  }
  if (!x->is_array() || x->empty()) {
    fields.refuse("prompt", expected, *x);
    return;
  }
  if (x->size() >= limits.context_tokens) {
    fields.refuse("prompt",
                  fmt::format("fewer than {} tokens (the model's context)",
                              limits.context_tokens),
                  *x);
    return;
  }
  request.prompt = read_ids(fields, "prompt", *x, limits);
}

void read_stop(field_reader& fields, std::vector<std::string>& stop) {
  const auto* x = fields.find("stop");
  if (x == nullptr)
    return;
  auto add = [&](std::string name, const json& item) {
    const auto* text = item.get_ptr<const std::string*>();
    if (text == nullptr || text->empty() ||
        text->size() > stop_string_bytes_max)
      fields.refuse(
        std::move(name),
        fmt::format("a string of 1 to {} bytes", stop_string_bytes_max), item);
    else
      stop.push_back(*text);
  };
  stop.clear();
  if (!x->is_array()) {
    add("stop", *x);
    return;
  }
  if (x->size() > stop_strings_max) {
    fields.refuse("stop", fmt::format("at most {} strings", stop_strings_max),
                  *x);
    return;
  }
  for (size_t i = 0; i < x->size(); ++i)
    add(fmt::format("stop[{}]", i), (*x)[i]);
}

void read_stop_ids(field_reader& fields, const completion_limits& limits,
                   std::vector<token_id>& ids) {
  const auto* x = fields.find("stop_token_ids");
  if (x == nullptr)
    return;
  if (!x->is_array() || x->size() > stop_strings_max) {
    fields.refuse(
      "stop_token_ids",
      fmt::format("a list of at most {} token ids", stop_strings_max), *x);
    return;
  }
  ids = read_ids(fields, "stop_token_ids", *x, limits);
}

/// 0 and -1 both mean "all tokens" to some client.
void read_top_k(field_reader& fields, uint32_t& top_k) {
  constexpr uint64_t most = std::numeric_limits<uint32_t>::max();
  const auto* x = fields.find("top_k");
  if (x != nullptr && x->is_number_integer() && *x == -1)
    top_k = 0;
  else
    top_k = static_cast<uint32_t>(fields.integer("top_k", top_k, {0, most}));
}

delivery read_delivery(field_reader& fields) {
  bool stream = fields.boolean("stream", false);
  bool usage = false;
  if (const auto* x = fields.find("stream_options")) {
    if (!stream || !x->is_object()) {
      fields.refuse("stream_options", "an object, together with stream = true",
                    *x);
      return delivery::whole;
    }
    field_reader options{*x};
    usage = options.boolean("include_usage", false);
    if (const auto& problem = options.problem())
      fields.refuse_with(*problem);
  }
  if (!stream)
    return delivery::whole;
  return usage ? delivery::stream_with_usage : delivery::stream;
}

void check_model(field_reader& fields, const completion_limits& limits) {
  const auto* x = fields.find("model");
  if (x == nullptr)
    return;
  if (!x->is_string()) {
    fields.refuse("model", "a string", *x);
    return;
  }
  if (*x == limits.model_name)
    return;
  auto problem = bad_request(
    "model", fmt::format("model: expected \"{}\" (the one served here), "
                         "found {}",
                         limits.model_name, in_short(*x)));
  problem.status = 404;
  problem.code = "model_not_found";
  fields.refuse_with(std::move(problem));
}

} // namespace

tl::expected<completion_call, api_error>
parse_completion(std::string_view body, const completion_limits& limits,
                 uint64_t seed) {
  auto object = parse_object(body);
  if (!object)
    return tl::unexpected(std::move(object.error()));
  field_reader fields{*object};
  completion_call result;
  check_model(fields, limits);
  read_prompt(fields, limits, result.request);
  auto& params = result.request.params;
  params = limits.defaults;
  params.max_tokens = static_cast<uint32_t>(
    fields.integer("max_tokens", params.max_tokens, {1, max_tokens_limit}));
  params.temperature =
    fields.number("temperature", params.temperature, {0.0f, temperature_limit});
  params.top_p = fields.number("top_p", params.top_p, {0.0f, 1.0f});
  if (params.top_p == 0.0f)
    fields.refuse("top_p", "a number above 0, up to 1", 0);
  params.min_p = fields.number("min_p", params.min_p, {0.0f, 1.0f});
  params.seed =
    fields.integer("seed", seed, {0, std::numeric_limits<uint64_t>::max()});
  params.ignore_eos = fields.boolean("ignore_eos", params.ignore_eos);
  read_top_k(fields, params.top_k);
  read_stop(fields, params.stop);
  read_stop_ids(fields, limits, params.stop_ids);
  result.how = read_delivery(fields);
  refuse_unsupported(fields);
  if (const auto& problem = fields.problem())
    return tl::unexpected(*problem);
  return result;
}

} // namespace troupe
