// See parser.hpp: tags and the blocks between them.
#include "runtime/template/parser.hpp"

#include <algorithm>
#include <array>

namespace troupe::jinja {

namespace {

using kind = statement_kind;
using names = std::initializer_list<std::string_view>;

class statement_parser {
public:
  explicit statement_parser(token_reader& in) : in_(in), expressions_(in) {
    // nop
  }

  /// Up to a tag that begins with one of `ends`, whose name is the next token
  /// then; up to the end of the template if there are none.
  block parse_until(names ends) {
    token_reader::nesting deeper{in_};
    block out;
    while (!in_.failed()) {
      if (in_.current().kind == token_kind::end) {
        if (ends.size() > 0)
          refuse_end(ends);
        break;
      }
      if (in_.current().kind == token_kind::block_begin) {
        auto& tag = in_.ahead();
        if (tag.kind == token_kind::name &&
            std::find(ends.begin(), ends.end(), tag.text) != ends.end()) {
          in_.take();
          break;
        }
      }
      out.push_back(parse_statement());
    }
    return out;
  }

private:
  void refuse_end(names ends) {
    std::string tags;
    for (auto x : ends)
      tags += fmt::format("{}\"{{% {} %}}\"", tags.empty() ? "" : " or ", x);
    in_.refuse(fmt::format("{} for \"{{% {} %}}\" of line {}", tags, tag_.text,
                           tag_.at.line));
  }

  statement parse_statement() {
    statement out;
    out.at = in_.current().at;
    if (in_.current().kind == token_kind::data) {
      out.text = in_.take().text;
    } else if (in_.current().kind == token_kind::output_begin) {
      in_.take();
      out.kind = kind::output;
      out.subject = expressions_.parse_tuple();
      in_.expect(token_kind::output_end);
    } else if (in_.current().kind == token_kind::block_begin) {
      in_.take();
      parse_tag(out);
    } else {
      in_.refuse("text or a tag");
    }
    return out;
  }

  void parse_tag(statement& out) {
    using parse_function = void (statement_parser::*)(statement&);
    struct tag {
      std::string_view name;
      parse_function parse;
    };
    static constexpr std::array tags{
      tag{"if", &statement_parser::parse_if},
      tag{"for", &statement_parser::parse_for},
      tag{"set", &statement_parser::parse_set},
      tag{"macro", &statement_parser::parse_macro},
      tag{"call", &statement_parser::parse_call},
      tag{"filter", &statement_parser::parse_filter},
      tag{"with", &statement_parser::parse_with},
      tag{"generation", &statement_parser::parse_generation},
      tag{"break", &statement_parser::parse_break},
      tag{"continue", &statement_parser::parse_continue},
    };
    auto word = in_.current();
    auto found = std::find_if(tags.begin(), tags.end(), [&](auto& x) {
      return word.kind == token_kind::name && x.name == word.text;
    });
    if (found == tags.end())
      return refuse_tag(word);
    auto outer = std::exchange(tag_, word);
    in_.take();
    (this->*found->parse)(out);
    tag_ = outer;
  }

  void refuse_tag(const token& word) {
    static constexpr std::array<std::string_view, 7> of_jinja{
      "include", "import", "from", "extends", "block", "autoescape", "print"};
    if (word.kind == token_kind::name &&
        std::find(of_jinja.begin(), of_jinja.end(), word.text) !=
          of_jinja.end())
      in_.refuse_at(word.at, ec::unsupported,
                    fmt::format("the tag \"{}\" is not supported in chat "
                                "templates",
                                word.text));
    else
      in_.refuse("a tag (if, for, set, macro, ...)");
  }

  /// The end of the tag at hand, then statements up to one of `ends`.
  block parse_body(names ends) {
    in_.skip_symbol(":");
    in_.expect(token_kind::block_end);
    return parse_until(ends);
  }

  void end_tag(std::string_view name) {
    in_.expect_name(name);
    in_.expect(token_kind::block_end);
  }

  void parse_if(statement& out) {
    out.kind = kind::conditional;
    do {
      auto condition = expressions_.parse_plain_tuple();
      out.branches.push_back(
        {std::move(condition), parse_body({"elif", "else", "endif"})});
    } while (in_.skip_name("elif"));
    if (in_.skip_name("else"))
      out.otherwise = parse_body({"endif"});
    end_tag("endif");
  }

  void parse_for(statement& out) {
    out.kind = kind::loop;
    out.to = parse_target("in");
    in_.expect_name("in");
    out.subject = expressions_.parse_plain_tuple("recursive");
    if (in_.skip_name("if"))
      out.filter = expressions_.parse();
    if (in_.is_name("recursive"))
      return in_.refuse_at(in_.current().at, ec::unsupported,
                           "recursive loops are not supported");
    ++loops_;
    out.body = parse_body({"endfor", "else"});
    --loops_;
    if (in_.skip_name("else"))
      out.otherwise = parse_body({"endfor"});
    end_tag("endfor");
  }

  void parse_set(statement& out) {
    out.to = parse_target({});
    if (in_.skip_symbol("=")) {
      out.kind = kind::assign;
      out.subject = expressions_.parse_tuple();
      return in_.expect(token_kind::block_end);
    }
    out.kind = kind::assign_block;
    if (in_.is_symbol("|"))
      out.filter = expressions_.parse_filters(block_text());
    out.body = parse_body({"endset"});
    end_tag("endset");
  }

  expression_ptr block_text() {
    auto x = std::make_unique<expression>();
    x->kind = expression_kind::name;
    x->at = in_.current().at;
    x->name = block_text_name;
    return x;
  }

  void parse_macro(statement& out) {
    out.kind = kind::macro;
    out.text = in_.expect_any_name();
    parse_parameters(out);
    parse_own_body(out, "endmacro");
  }

  /// `break` within belongs to loops within.
  void parse_own_body(statement& out, std::string_view end) {
    auto loops = std::exchange(loops_, 0);
    out.body = parse_body({end});
    loops_ = loops;
    end_tag(end);
  }

  void parse_parameters(statement& out) {
    in_.expect_symbol("(");
    while (!in_.failed() && !in_.is_symbol(")")) {
      parameter x;
      x.name = in_.expect_any_name();
      if (in_.skip_symbol("="))
        x.fallback = expressions_.parse();
      else if (!out.parameters.empty() && out.parameters.back().fallback)
        in_.refuse("\"=\" and a default, as the parameter before has one");
      out.parameters.push_back(std::move(x));
      if (!in_.skip_symbol(","))
        break;
    }
    in_.expect_symbol(")");
  }

  void parse_call(statement& out) {
    out.kind = kind::call_block;
    if (in_.is_symbol("("))
      parse_parameters(out);
    auto at = in_.current().at;
    out.subject = expressions_.parse();
    if (out.subject && out.subject->kind != expression_kind::call)
      return in_.refuse_at(at, ec::bad_format,
                           "expected the call of a macro after \"call\"");
    parse_own_body(out, "endcall");
  }

  void parse_filter(statement& out) {
    out.kind = kind::filter_block;
    out.filter =
      expressions_.parse_filters(expressions_.parse_filter(block_text()));
    out.body = parse_body({"endfilter"});
    end_tag("endfilter");
  }

  void parse_with(statement& out) {
    out.kind = kind::scope_block;
    while (!in_.failed() && in_.current().kind == token_kind::name) {
      parameter x;
      x.name = in_.expect_any_name();
      in_.expect_symbol("=");
      x.fallback = expressions_.parse();
      out.parameters.push_back(std::move(x));
      if (!in_.skip_symbol(","))
        break;
    }
    out.body = parse_body({"endwith"});
    end_tag("endwith");
  }

  void parse_generation(statement& out) {
    out.kind = kind::group;
    out.body = parse_body({"endgeneration"});
    end_tag("endgeneration");
  }

  void parse_break(statement& out) {
    out.kind = kind::stop_loop;
    end_in_loop();
  }

  void parse_continue(statement& out) {
    out.kind = kind::next_round;
    end_in_loop();
  }

  void end_in_loop() {
    if (loops_ == 0)
      in_.refuse_at(tag_.at, ec::bad_format,
                    fmt::format("\"{}\" outside of a loop", tag_.text));
    in_.expect(token_kind::block_end);
  }

  /// name, name.attribute, or several of them; `end` ends a tuple.
  target parse_target(std::string_view end) {
    target out = parse_one_target();
    if (!in_.is_symbol(","))
      return out;
    target all;
    all.kind = target_kind::tuple;
    all.at = out.at;
    all.parts.push_back(std::move(out));
    while (in_.skip_symbol(",")) {
      auto is_end = in_.is_symbol(")") || in_.is_symbol("=") ||
                    (!end.empty() && in_.is_name(end));
      if (is_end)
        break;
      all.parts.push_back(parse_one_target());
    }
    return all;
  }

  target parse_one_target() {
    token_reader::nesting deeper{in_};
    target out;
    out.at = in_.current().at;
    if (in_.skip_symbol("(")) {
      out = parse_target({});
      in_.expect_symbol(")");
      return out;
    }
    out.name = in_.expect_any_name();
    if (in_.skip_symbol(".")) {
      out.kind = target_kind::attribute;
      out.attribute = in_.expect_any_name();
    }
    static constexpr std::array<std::string_view, 6> constants{
      "true", "false", "none", "True", "False", "None"};
    if (std::find(constants.begin(), constants.end(), out.name) !=
        constants.end())
      in_.refuse_at(out.at, ec::bad_format,
                    fmt::format("\"{}\" cannot be given a value", out.name));
    return out;
  }

  token_reader& in_;
  expression_parser expressions_;
  token tag_; ///< The innermost open tag, for messages.
  size_t loops_ = 0;
};

} // namespace

result<block> parse_block(std::vector<token> tokens, const limits& most) {
  token_reader in{std::move(tokens), most};
  auto out = statement_parser{in}.parse_until({});
  if (in.failed())
    return tl::unexpected(in.fault());
  return out;
}

} // namespace troupe::jinja
