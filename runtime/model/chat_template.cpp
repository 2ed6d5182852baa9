#include "runtime/model/chat_template.hpp"

#include "config/text_file.hpp"
#include "runtime/model/strict_json.hpp"
#include "runtime/template/value_json.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace troupe {

namespace {

using nlohmann::json;

constexpr size_t json_bytes_max = 32 << 20;
constexpr size_t templates_max = 64;

/// Roles that name no one's words: a template may build a control token of
/// them ("<|" + role + "|>").
constexpr std::array<std::string_view, 9> known_roles{
  "system", "developer", "user",    "assistant",  "tool",
  "model",  "function",  "ipython", "observation"};

/// The text of a file; empty if it does not exist.
result<std::string> read_if_there(const std::string& path, size_t bytes_max) {
  auto text = read_text_file(path, bytes_max);
  if (!text && text.error().code == ec::not_found)
    return std::string{};
  return text;
}

jinja::value scaffolding(std::string_view text) {
  return jinja::value::text(text);
}

/// A token as tokenizer_config.json writes it: "<s>", or {"content": "<s>"}.
std::optional<std::string> token_text(const json& x) {
  if (x.is_string())
    return x.get<std::string>();
  if (!x.is_object())
    return std::nullopt;
  auto content = x.find("content");
  if (content == x.end() || !content->is_string())
    return std::nullopt;
  return content->get<std::string>();
}

/// `message` with a role of the template's own, if it is a known one.
jinja::value with_known_role(const jinja::value& message,
                             jinja::budget& spent) {
  auto& members = *message.as<jinja::dictionary_ptr>();
  auto* role = members.find(std::string_view{"role"});
  if (!role || !role->is_text() ||
      std::find(known_roles.begin(), known_roles.end(), role->text().bytes()) ==
        known_roles.end())
    return message;
  auto out = members;
  out.set(scaffolding("role"), scaffolding(role->text().bytes()));
  return jinja::make_dictionary(spent, std::move(out));
}

/// Checks the messages and marks their roles.
result<jinja::value> prepared_messages(const jinja::dictionary& variables,
                                       jinja::budget& spent) {
  auto* messages = variables.find(std::string_view{"messages"});
  if (!messages || !messages->is<jinja::sequence_ptr>())
    return fail(ec::invalid_argument,
                "messages: expected a list such as [{{\"role\": \"user\", "
                "\"content\": \"Hi\"}}], found {}",
                messages ? jinja::type_name(*messages) : "none");
  std::vector<jinja::value> out;
  for (auto& message : messages->as<jinja::sequence_ptr>()->items) {
    if (!message.is<jinja::dictionary_ptr>())
      return fail(ec::invalid_argument,
                  "messages[{}]: expected an object with role and content, "
                  "found {}",
                  out.size(), jinja::type_name(message));
    out.push_back(with_known_role(message, spent));
  }
  return jinja::make_sequence(spent, std::move(out));
}

} // namespace

std::vector<text_piece> chat_prompt::pieces() const {
  std::vector<text_piece> out;
  for (auto& x : text.pieces())
    out.push_back({x.text, x.from == jinja::origin::scaffolding
                             ? special_text::parse
                             : special_text::as_text});
  return out;
}

result<void> chat_template::add(const std::string& name,
                                const std::string& where,
                                std::string_view text) {
  auto program = jinja::prompt_template::parse(text);
  if (!program)
    return wrap(where, std::move(program.error()));
  if (sources_.size() == templates_max)
    return fail(ec::bad_format, "{}: expected at most {} templates", where,
                templates_max);
  if (!sources_.emplace(name, source{where, std::move(*program)}).second)
    return fail(ec::bad_format, "{}: the template \"{}\" is there twice", where,
                name);
  return {};
}

result<void> chat_template::add_files(const std::string& folder) {
  auto bytes_max = jinja::limits{}.template_bytes_max;
  auto path = folder + "/chat_template.jinja";
  if (auto text = read_text_file(path, bytes_max)) {
    if (auto ok = add("default", path, *text); !ok)
      return ok;
  } else if (text.error().code != ec::not_found) {
    return tl::unexpected(std::move(text.error()));
  }
  std::error_code ignored; // no such folder: nothing to add
  std::filesystem::directory_iterator more{
    folder + "/additional_chat_templates", ignored};
  for (; more != std::filesystem::directory_iterator{};
       more.increment(ignored)) {
    auto& file = more->path();
    if (file.extension() != ".jinja")
      continue;
    auto text = read_text_file(file.string(), bytes_max);
    if (!text)
      return tl::unexpected(std::move(text.error()));
    if (auto ok = add(file.stem().string(), file.string(), *text); !ok)
      return ok;
  }
  return {};
}

result<void> chat_template::add_named(const std::string& where,
                                      const json& by_name) {
  for (auto& [name, x] : by_name.items()) {
    auto place = fmt::format("{} \"{}\"", where, name);
    if (!x.is_string())
      return fail(ec::bad_format, "{}: expected a string, found {}", place,
                  describe(x));
    if (auto ok = add(name, place, x.get<std::string>()); !ok)
      return ok;
  }
  return {};
}

result<void> chat_template::add_json(const std::string& path,
                                     std::string_view text) {
  auto root = parse_json(text, path);
  if (!root)
    return tl::unexpected(std::move(root.error()));
  auto found = root->is_object() ? root->find("chat_template") : root->end();
  if (found == root->end() || found->is_null())
    return {};
  auto where = path + ": chat_template";
  if (found->is_string())
    return add("default", where, found->get<std::string>());
  auto refuse = [&](const json& x) {
    return fail(ec::bad_format,
                "{}: expected a string, or a list of objects with name and "
                "template, found {}",
                where, describe(x));
  };
  if (found->is_object())
    return add_named(where, *found);
  if (!found->is_array())
    return refuse(*found);
  for (auto& x : *found) {
    auto is_named = x.is_object() && x.contains("name") &&
                    x["name"].is_string() && x.contains("template") &&
                    x["template"].is_string();
    if (!is_named)
      return refuse(x);
    auto name = x["name"].get<std::string>();
    if (auto ok = add(name, fmt::format("{} \"{}\"", where, name),
                      x["template"].get<std::string>());
        !ok)
      return ok;
  }
  return {};
}

result<void> chat_template::read_special_tokens(const std::string& path,
                                                std::string_view text) {
  auto root = parse_json(text, path);
  if (!root)
    return tl::unexpected(std::move(root.error()));
  if (!root->is_object())
    return fail(ec::bad_format, "{}: expected an object, found {}", path,
                describe(*root));
  auto take = [&](const std::string& key, const json& x) {
    if (special_tokens_.find(std::string_view{key}))
      return;
    if (auto token = token_text(x))
      special_tokens_.set(scaffolding(key), scaffolding(*token));
  };
  for (auto* key : {"bos_token", "eos_token", "unk_token", "sep_token",
                    "pad_token", "cls_token", "mask_token"})
    if (auto found = root->find(key); found != root->end())
      take(key, *found);
  auto extra = root->find("extra_special_tokens");
  if (extra != root->end() && extra->is_object())
    for (auto& [key, x] : extra->items())
      take(key, x);
  return {};
}

result<chat_template> chat_template::load(const std::string& folder) {
  chat_template out;
  if (auto ok = out.add_files(folder); !ok)
    return tl::unexpected(std::move(ok.error()));
  for (auto* name : {"tokenizer_config.json", "special_tokens_map.json",
                     "chat_template.json"}) {
    auto path = fmt::format("{}/{}", folder, name);
    auto text = read_if_there(path, json_bytes_max);
    if (!text)
      return tl::unexpected(std::move(text.error()));
    if (text->empty())
      continue;
    if (out.sources_.empty())
      if (auto ok = out.add_json(path, *text); !ok)
        return tl::unexpected(std::move(ok.error()));
    if (auto ok = out.read_special_tokens(path, *text); !ok)
      return tl::unexpected(std::move(ok.error()));
  }
  if (out.sources_.empty())
    return fail(
      ec::not_found,
      "{}: there is no chat template: expected chat_template.jinja, "
      "or chat_template in tokenizer_config.json; a model without one "
      "completes plain text (--prompt)",
      folder);
  return out;
}

std::vector<std::string> chat_template::names() const {
  std::vector<std::string> out;
  for (auto& [name, x] : sources_)
    out.push_back(name);
  return out;
}

result<const chat_template::source*>
chat_template::pick(const std::string& name,
                    const jinja::dictionary& variables) const {
  auto* tools = variables.find(std::string_view{"tools"});
  auto has_tools = tools && !tools->is<jinja::none>();
  auto wanted = !name.empty()                                ? name
                : has_tools && sources_.contains("tool_use") ? "tool_use"
                                                             : "default";
  auto found = sources_.find(wanted);
  if (found != sources_.end())
    return &found->second;
  return fail(ec::invalid_argument,
              "there is no chat template \"{}\": expected one of {}", wanted,
              fmt::join(names(), ", "));
}

result<chat_prompt>
chat_template::render(jinja::dictionary variables, const std::string& name,
                      const jinja::render_options& options) const {
  auto from = pick(name, variables);
  if (!from)
    return tl::unexpected(std::move(from.error()));
  jinja::budget spent{options.most};
  auto messages = prepared_messages(variables, spent);
  if (!messages)
    return tl::unexpected(std::move(messages.error()));
  if (spent.failed())
    return tl::unexpected(spent.failure());
  variables.set(scaffolding("messages"), std::move(*messages));
  // The variables that transformers always gives.
  for (auto* key : {"tools", "documents"})
    if (!variables.find(std::string_view{key}))
      variables.set(scaffolding(key), jinja::value{jinja::none{}});
  if (!variables.find(std::string_view{"add_generation_prompt"}))
    variables.set(scaffolding("add_generation_prompt"), jinja::value{false});
  for (auto& [key, token] : special_tokens_.items())
    if (!variables.find(key))
      variables.set(key, token);
  auto text = (*from)->program.render(variables, options);
  if (!text)
    return wrap((*from)->where, std::move(text.error()));
  return chat_prompt{std::move(*text)};
}

result<jinja::dictionary> chat_variables(std::string_view json_text,
                                         const std::string& name) {
  auto root = jinja::parse_json_value(json_text, name);
  if (!root)
    return tl::unexpected(std::move(root.error()));
  if (root->is<jinja::dictionary_ptr>())
    return *root->as<jinja::dictionary_ptr>();
  if (!root->is<jinja::sequence_ptr>())
    return fail(ec::invalid_argument,
                "{}: expected a list of messages, or an object with messages, "
                "found {}",
                name, jinja::type_name(*root));
  jinja::dictionary out;
  out.set(scaffolding("messages"), std::move(*root));
  return out;
}

} // namespace troupe
