// `troupe tokenize` and `troupe detokenize`: text to token ids and back, with
// nothing but the model folder's tokenizer.json.
#include "runtime/cli/command.hpp"
#include "runtime/cli/model_options.hpp"
#include "runtime/cli/signal_watch.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace troupe::cli {

namespace {

struct tokenize_arguments {
  std::string model;
  bool add_special = false;
};

struct detokenize_arguments {
  std::string model;
  std::string ids;
  bool skip_special = false;
};

/// All of the standard input, at most `bytes_max`.
result<std::string> read_input(size_t bytes_max) {
  std::string text;
  char buffer[65536];
  while (auto n = std::fread(buffer, 1, sizeof buffer, stdin)) {
    if (text.size() + n > bytes_max)
      return fail(ec::invalid_argument,
                  "standard input: expected at most {} bytes", bytes_max);
    text.append(buffer, n);
  }
  if (std::ferror(stdin) != 0)
    return fail(ec::io, "standard input: cannot be read");
  return text;
}

int run_tokenize(const tokenize_arguments& x) {
  signal_watch::unblock();
  auto tokens = need_tokenizer(x.model);
  if (!tokens)
    return report(tokens.error());
  auto text = read_input(tokenizer::text_bytes_max);
  if (!text)
    return report(text.error());
  encode_options options;
  options.around = x.add_special ? template_tokens::add : template_tokens::omit;
  auto ids = tokens->encode(*text, options);
  if (!ids)
    return report(ids.error());
  std::printf("%s\n", nlohmann::json(*ids).dump().c_str());
  return exit_done;
}

int run_detokenize(const detokenize_arguments& x) {
  signal_watch::unblock();
  auto tokens = need_tokenizer(x.model);
  if (!tokens)
    return report(tokens.error());
  auto written = x.ids == "-" ? read_input(tokenizer::text_bytes_max)
                              : result<std::string>{x.ids};
  if (!written)
    return report(written.error());
  auto ids = parse_ids(*written);
  if (!ids)
    return report(ids.error());
  for (auto id : *ids)
    if (static_cast<size_t>(id) >= tokens->vocab_size())
      return report(
        error{ec::invalid_argument,
              fmt::format("--ids: {}: expected 0 to {} (the tokenizer's ids)",
                          id, tokens->vocab_size() - 1)});
  auto text = tokens->decode(*ids, x.skip_special ? special_output::skip
                                                  : special_output::keep);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? exit_done : exit_failed;
}

} // namespace

void add_tokenize(CLI::App& app, action& chosen) {
  auto x = std::make_shared<tokenize_arguments>();
  auto command = app.add_subcommand(
    "tokenize", "print the token ids of the standard input as a JSON list");
  command->footer("examples:\n"
                  "  echo -n \"It is a truth\" | troupe tokenize --model "
                  "models/demo\n");
  command->add_option("--model", x->model, "folder that holds tokenizer.json")
    ->required();
  command->add_flag("--add-special", x->add_special,
                    "add what the model expects around a text");
  command->callback(
    [x, &chosen] { chosen = [x] { return run_tokenize(*x); }; });
}

void add_detokenize(CLI::App& app, action& chosen) {
  auto x = std::make_shared<detokenize_arguments>();
  auto command =
    app.add_subcommand("detokenize", "print the text of token ids");
  command->footer("examples:\n"
                  "  troupe detokenize --model models/demo --ids 2495,343,262\n"
                  "  troupe tokenize --model models/demo < text | troupe "
                  "detokenize --model models/demo --ids -\n");
  command->add_option("--model", x->model, "folder that holds tokenizer.json")
    ->required();
  command
    ->add_option("--ids", x->ids,
                 "token ids, e.g. 1,2,3; \"-\" reads them from the standard "
                 "input")
    ->required();
  command->add_flag("--skip-special", x->skip_special,
                    "leave control tokens out");
  command->callback(
    [x, &chosen] { chosen = [x] { return run_detokenize(*x); }; });
}

} // namespace troupe::cli
