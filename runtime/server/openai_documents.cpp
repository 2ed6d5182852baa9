// The writing half of openai_api.hpp.
#include "runtime/server/openai_api.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace troupe {

namespace {

// Keeps the members in the order written, as people expect to read them.
using json = nlohmann::ordered_json;

/// Bytes that are not UTF-8 become U+FFFD instead of an exception.
std::string text_of(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

json base(const completion_header& header) {
  return {{"id", header.id},
          {"object", "text_completion"},
          {"created", header.created_seconds},
          {"model", header.model}};
}

json choice(std::string_view text, json finish_reason) {
  return {{"index", 0},
          {"text", text},
          {"logprobs", nullptr},
          {"finish_reason", std::move(finish_reason)}};
}

json usage(const completion_end& x) {
  return {{"prompt_tokens", x.prompt_tokens},
          {"completion_tokens", x.completion_tokens},
          {"total_tokens",
           uint64_t{x.prompt_tokens} + uint64_t{x.completion_tokens}}};
}

json statistics(const completion_header& header, const completion_end& x) {
  return {{"seed", header.seed},
          {"pairs",
           {{"remote", x.stats.remote_pairs},
            {"local", x.stats.local_pairs},
            {"rerouted", x.stats.rerouted_pairs}}},
          {"failures", x.stats.failures},
          {"prefill_seconds", x.stats.prefill_seconds},
          {"decode_seconds", x.stats.decode_seconds},
          {"remote_wait_seconds", x.stats.remote_wait_seconds}};
}

} // namespace

std::string error_document(const api_error& x) {
  json body{{"message", x.message}, {"type", x.type}, {"code", x.code}};
  body["param"] = x.param.empty() ? json(nullptr) : json(x.param);
  return text_of({{"error", std::move(body)}});
}

std::string completion_document(const completion_header& header,
                                const completion_piece& all,
                                const completion_end& end) {
  auto document = base(header);
  document["choices"] = json::array({choice(all.text, to_string(end.reason))});
  document["usage"] = usage(end);
  document["troupe"] = statistics(header, end);
  document["troupe"]["ids"] = all.ids;
  return text_of(document);
}

std::string piece_document(const completion_header& header,
                           const completion_piece& x) {
  auto document = base(header);
  document["choices"] = json::array({choice(x.text, nullptr)});
  document["troupe"] = {{"ids", x.ids}};
  return text_of(document);
}

std::string end_document(const completion_header& header,
                         const completion_end& x) {
  auto document = base(header);
  document["choices"] = json::array({choice("", to_string(x.reason))});
  document["troupe"] = statistics(header, x);
  return text_of(document);
}

std::string usage_document(const completion_header& header,
                           const completion_end& x) {
  auto document = base(header);
  document["choices"] = json::array();
  document["usage"] = usage(x);
  return text_of(document);
}

std::string models_document(const completion_limits& limits,
                            int64_t created_seconds) {
  json model{{"id", limits.model_name},
             {"object", "model"},
             {"created", created_seconds},
             {"owned_by", "troupe"},
             {"max_model_len", limits.context_tokens}};
  return text_of(
    {{"object", "list"}, {"data", json::array({std::move(model)})}});
}

} // namespace troupe
