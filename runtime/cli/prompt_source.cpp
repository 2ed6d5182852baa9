#include "runtime/cli/prompt_source.hpp"

#include "runtime/cli/model_options.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

namespace troupe::cli {

namespace {

using json = nlohmann::json;

result<std::vector<token_id>> encode(const std::string& prompt,
                                     const std::optional<tokenizer>& text) {
  if (!text)
    return fail(ec::not_found,
                "the model folder has no tokenizer.json; give token ids with "
                "--ids");
  encode_options options;
  options.around = template_tokens::add;
  auto ids = text->encode(prompt, options);
  if (ids && ids->empty())
    return fail(ec::invalid_argument, "the prompt is empty");
  return ids;
}

result<generation_request> parse_line(const json& line,
                                      const std::optional<tokenizer>& text,
                                      const sampling_params& params) {
  generation_request request{{}, params};
  if (!line.is_object())
    return fail(ec::bad_format, "expected a JSON object");
  for (auto& [key, value] : line.items()) {
    if (key == "prompt" && value.is_string()) {
      auto ids = encode(value.get<std::string>(), text);
      if (!ids)
        return tl::unexpected(std::move(ids.error()));
      request.prompt = std::move(*ids);
    } else if (key == "ids" && value.is_array()) {
      for (auto& id : value) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX)
          return fail(ec::bad_format, "ids: expected token ids, found {}",
                      id.dump());
        request.prompt.push_back(id.get<token_id>());
      }
    } else if (key == "seed" && value.is_number_unsigned()) {
      request.params.seed = value.get<uint64_t>();
    } else if (key == "max_tokens" && value.is_number_unsigned() &&
               value.get<uint64_t>() <= max_tokens_limit) {
      request.params.max_tokens = value.get<uint32_t>();
    } else {
      return fail(ec::bad_format,
                  "{}: expected \"prompt\", \"ids\", \"seed\" or "
                  "\"max_tokens\" with a fitting value, found {}",
                  key, value.dump());
    }
  }
  if (request.prompt.empty())
    return fail(ec::bad_format, "expected \"prompt\" or \"ids\"");
  return request;
}

result<std::vector<generation_request>>
read_lines(const std::string& path, const std::optional<tokenizer>& text,
           const sampling_params& params) {
  auto all = read_text_file(path);
  if (!all)
    return tl::unexpected(std::move(all.error()));
  std::vector<generation_request> result;
  std::istringstream in{*all};
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    auto where = fmt::format("{}:{}", path, number);
    auto parsed = json::parse(line, nullptr, false);
    if (parsed.is_discarded())
      return fail(ec::bad_format, "{}: not JSON", where);
    auto request = parse_line(parsed, text, params);
    if (!request)
      return wrap(where, std::move(request.error()));
    result.push_back(std::move(*request));
  }
  if (result.empty())
    return fail(ec::invalid_argument, "{}: no prompts", path);
  return result;
}

} // namespace

void prompt_arguments::declare(CLI::App& app) {
  auto source = app.add_option_group("prompt", "where the prompt comes from");
  source->add_option("--prompt", prompt, "the text to continue");
  source->add_option("--prompt-file", prompt_file, "a file with the text");
  source->add_option("--prompts", prompts_file,
                     "JSON lines: {\"prompt\": TEXT} or {\"ids\": [...]}; all "
                     "run together");
  source->add_option("--ids", ids, "token ids, e.g. 1,2,3");
  source->require_option(1);
}

result<std::vector<generation_request>>
read_prompts(const prompt_arguments& x, const std::optional<tokenizer>& text,
             const sampling_params& params) {
  if (!x.prompts_file.empty())
    return read_lines(x.prompts_file, text, params);
  auto ids = [&]() -> result<std::vector<token_id>> {
    if (!x.ids.empty())
      return parse_ids(x.ids);
    if (x.prompt_file.empty())
      return encode(x.prompt, text);
    auto all = read_text_file(x.prompt_file);
    if (!all)
      return tl::unexpected(std::move(all.error()));
    return encode(*all, text);
  }();
  if (!ids)
    return tl::unexpected(std::move(ids.error()));
  return std::vector<generation_request>{{std::move(*ids), params}};
}

} // namespace troupe::cli
