// `troupe chat-template`: a conversation as the prompt that the model's own
// template makes of it, with nothing but the tokenizer's files.
#include "runtime/cli/command.hpp"
#include "runtime/cli/model_options.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/model/chat_template.hpp"
#include "runtime/template/value_json.hpp"

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace troupe::cli {

namespace {

struct chat_template_arguments {
  std::string model;
  std::string messages;
  std::string tools;
  std::string name;
  bool add_generation_prompt = false;
  bool ids = false;
  bool json = false;
};

result<void> set_json_file(jinja::dictionary& variables, const char* key,
                           const std::string& path) {
  auto text = read_text_file(path);
  if (!text)
    return tl::unexpected(std::move(text.error()));
  auto x = jinja::parse_json_value(*text, path);
  if (!x)
    return tl::unexpected(std::move(x.error()));
  variables.set(jinja::value::text(key), std::move(*x));
  return {};
}

result<jinja::dictionary> read_variables(const chat_template_arguments& x) {
  auto text = read_text_file(x.messages);
  if (!text)
    return tl::unexpected(std::move(text.error()));
  auto variables = chat_variables(*text, x.messages);
  if (!variables)
    return variables;
  if (!x.tools.empty())
    if (auto ok = set_json_file(*variables, "tools", x.tools); !ok)
      return tl::unexpected(std::move(ok.error()));
  if (x.add_generation_prompt)
    variables->set(jinja::value::text("add_generation_prompt"),
                   jinja::value{true});
  return variables;
}

result<chat_prompt> render_prompt(const chat_template_arguments& x) {
  if (auto ok = need_model(x.model); !ok)
    return tl::unexpected(std::move(ok.error()));
  auto templates = chat_template::load(x.model);
  if (!templates)
    return tl::unexpected(std::move(templates.error()));
  auto variables = read_variables(x);
  if (!variables)
    return tl::unexpected(std::move(variables.error()));
  jinja::render_options options;
  std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  options.now = local;
  return templates->render(std::move(*variables), x.name, options);
}

nlohmann::json pieces_json(const chat_prompt& prompt) {
  auto out = nlohmann::json::array();
  for (auto& piece : prompt.text.pieces())
    out.push_back(
      {{"text", piece.text},
       {"origin",
        piece.from == jinja::origin::scaffolding ? "template" : "content"}});
  return out;
}

int run_chat_template(const chat_template_arguments& x) {
  signal_watch::unblock();
  auto prompt = render_prompt(x);
  if (!prompt)
    return report(prompt.error());
  auto out = nlohmann::json{{"prompt", prompt->text.bytes()},
                            {"pieces", pieces_json(*prompt)}};
  if (x.ids) {
    auto tokens = need_tokenizer(x.model);
    if (!tokens)
      return report(tokens.error());
    auto ids = tokens->encode_pieces(prompt->pieces());
    if (!ids)
      return report(ids.error());
    out["ids"] = *ids;
  }
  auto text = x.json  ? out.dump() + "\n"
              : x.ids ? out["ids"].dump() + "\n"
                      : std::string{prompt->text.bytes()};
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? exit_done : exit_failed;
}

} // namespace

void add_chat_template(CLI::App& app, action& chosen) {
  auto x = std::make_shared<chat_template_arguments>();
  auto command = app.add_subcommand(
    "chat-template", "print the prompt of a conversation, as the model's chat "
                     "template writes it");
  command->footer(
    "examples:\n"
    "  echo '[{\"role\": \"user\", \"content\": \"Hi\"}]' > chat.json\n"
    "  troupe chat-template --model DIR --messages chat.json "
    "--add-generation-prompt\n"
    "  troupe chat-template --model DIR --messages chat.json --tools "
    "tools.json "
    "--ids\n"
    "chat.json may be an object too: messages, tools, documents,\n"
    "add_generation_prompt and other variables that the template knows.\n");
  command
    ->add_option("--model", x->model,
                 "folder that holds tokenizer_config.json or "
                 "chat_template.jinja")
    ->required();
  command
    ->add_option("--messages", x->messages,
                 "JSON file: a list of messages, or an object with messages")
    ->required();
  command->add_option("--tools", x->tools, "JSON file: a list of tools");
  command->add_option("--template", x->name,
                      "which template, of a model that has several");
  command->add_flag("--add-generation-prompt", x->add_generation_prompt,
                    "end with the beginning of the model's answer");
  command->add_flag("--ids", x->ids, "print token ids instead");
  command->add_flag("--json", x->json,
                    "print an object: prompt, pieces (who wrote what), and ids "
                    "with --ids");
  command->callback(
    [x, &chosen] { chosen = [x] { return run_chat_template(*x); }; });
}

} // namespace troupe::cli
