// How a model wants a conversation written down: the chat template in a
// checkpoint's folder, in the places where transformers looks for it, and the
// prompt it makes. What a person wrote never becomes a control token, whatever
// it spells: the prompt's pieces say which text is whose.
#pragma once

#include "runtime/model/text_piece.hpp"
#include "runtime/template/prompt_template.hpp"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace troupe {

/// A rendered conversation.
struct chat_prompt {
  jinja::marked_text text;

  /// For `tokenizer::encode_pieces`: control tokens only in what the template
  /// wrote. Views into `text`.
  std::vector<text_piece> pieces() const;
};

/// The template of a model, or several with names. Immutable.
class chat_template {
public:
  /// Looks into `chat_template.jinja` and `additional_chat_templates/`, else
  /// `tokenizer_config.json`, else `chat_template.json`. Fails with not_found
  /// if there is none, else with bad_format, io or unsupported, naming the file
  /// and the place in it.
  static result<chat_template> load(const std::string& folder);

  /// Renders a conversation. `variables` are what the caller gives: `messages`,
  /// and as it likes `tools`, `documents`, `add_generation_prompt` and others
  /// that the template knows; special tokens are added. `name` picks a
  /// template; empty means "tool_use" if there is one and tools are given, else
  /// "default". Fails with invalid_argument if messages are not what they
  /// should be, or the template refuses them; otherwise as
  /// `jinja::prompt_template::render`.
  result<chat_prompt> render(jinja::dictionary variables,
                             const std::string& name = {},
                             const jinja::render_options& options = {}) const;

  /// In order; one template alone is called "default".
  std::vector<std::string> names() const;

private:
  struct source {
    std::string where; ///< "DIR/chat_template.jinja", for messages.
    jinja::prompt_template program;
  };

  result<void> add(const std::string& name, const std::string& where,
                   std::string_view text);
  result<void> add_files(const std::string& folder);
  result<void> add_named(const std::string& where,
                         const nlohmann::json& by_name);
  result<void> add_json(const std::string& path, std::string_view text);
  result<void> read_special_tokens(const std::string& path,
                                   std::string_view text);
  result<const source*> pick(const std::string& name,
                             const jinja::dictionary& variables) const;

  std::map<std::string, source> sources_;
  jinja::dictionary special_tokens_; ///< bos_token and so on.
};

/// What `troupe chat-template` and a request's body give: a list of messages,
/// or an object with `messages` and other variables. `name` stands for the
/// source in messages. Fails with bad_format or invalid_argument.
result<jinja::dictionary> chat_variables(std::string_view json_text,
                                         const std::string& name);

} // namespace troupe
