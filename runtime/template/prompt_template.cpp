#include "runtime/template/prompt_template.hpp"

#include "runtime/template/characters.hpp"
#include "runtime/template/evaluator.hpp"
#include "runtime/template/lexer.hpp"
#include "runtime/template/parser.hpp"
#include "runtime/template/value_json.hpp"

namespace troupe::jinja {

struct prompt_template::program {
  block statements;
};

prompt_template::prompt_template(std::shared_ptr<const program> x)
  : program_(std::move(x)) {
  // nop
}

result<prompt_template> prompt_template::parse(std::string_view text,
                                               const limits& most) {
  if (text.size() > most.template_bytes_max)
    return fail(ec::bad_format, "expected at most {} bytes, found {}",
                most.template_bytes_max, text.size());
  if (!is_utf8(text))
    return fail(ec::bad_format, "expected UTF-8, found other bytes");
  auto lines = normalize_lines(text);
  auto tokens = scan(lines);
  if (!tokens)
    return tl::unexpected(std::move(tokens.error()));
  auto statements = parse_block(std::move(*tokens), most);
  if (!statements)
    return tl::unexpected(std::move(statements.error()));
  return prompt_template{
    std::make_shared<const program>(program{std::move(*statements)})};
}

result<marked_text>
prompt_template::render(const dictionary& variables,
                        const render_options& options) const {
  evaluator run{variables, {budget{options.most}, options.now, {}}};
  return run.run(program_->statements);
}

void exercise(std::string_view text, std::string_view variables_json) {
  render_options options;
  options.most = {size_t{1} << 16, 64,    50'000, size_t{16} << 20,
                  size_t{1} << 20, 10'000};
  options.now = std::tm{};
  dictionary variables;
  auto given = parse_json_value(variables_json, "variables");
  if (given && given->is<dictionary_ptr>())
    variables = *given->as<dictionary_ptr>();
  auto parsed = prompt_template::parse(text, options.most);
  if (parsed)
    std::ignore = parsed->render(variables, options);
}

} // namespace troupe::jinja
