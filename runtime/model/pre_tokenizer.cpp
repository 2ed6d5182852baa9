// See pre_tokenizer.hpp.
#include "runtime/model/pre_tokenizer.hpp"

#include "runtime/model/pattern_json.hpp"
#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

using nlohmann::json;

namespace {

/// The words of GPT-2: contractions, letters, digits, other signs (each with
/// at most one space in front), and white space but for the last before a word.
constexpr std::string_view gpt2_words =
  R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// ASCII's signs and Unicode's punctuation.
constexpr std::string_view punctuation = R"([!-/:-@\[-`{-~\p{P}])";

/// Words (Unicode TR18; `is_word_character` is the same) and runs of signs.
constexpr std::string_view words_and_signs =
  R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}]+|[^\s\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}]+)";

result<split_behavior> behavior_of(const json& x) {
  auto name = text_member(x, "behavior");
  if (!name)
    return tl::unexpected(name.error());
  if (*name == "Removed")
    return split_behavior::removed;
  if (*name == "Isolated")
    return split_behavior::isolated;
  if (*name == "MergedWithPrevious")
    return split_behavior::merged_with_previous;
  if (*name == "MergedWithNext")
    return split_behavior::merged_with_next;
  if (*name == "Contiguous")
    return split_behavior::contiguous;
  return fail(ec::bad_format,
              "behavior: expected Removed, Isolated, MergedWithPrevious, "
              "MergedWithNext or Contiguous, found \"{}\"",
              *name);
}

result<split_rule> split_of(const json& x) {
  auto pattern = pattern_member(x);
  if (!pattern)
    return tl::unexpected(pattern.error());
  auto behavior = behavior_of(x);
  if (!behavior)
    return tl::unexpected(behavior.error());
  auto invert = flag_member(x, "invert", false);
  if (!invert)
    return tl::unexpected(invert.error());
  if (auto* expression = std::get_if<regex>(&*pattern))
    return pattern_rule{std::move(*expression), *behavior, *invert};
  auto literal = regex::literal(std::get<std::string>(*pattern));
  if (!literal)
    return tl::unexpected(literal.error());
  return pattern_rule{std::move(*literal), *behavior, *invert};
}

/// Files from before `prepend_scheme` have `add_prefix_space` instead.
result<mark_prefix> mark_prefix_of(const json& x) {
  auto adds = flag_member(x, "add_prefix_space", true);
  if (!adds)
    return tl::unexpected(adds.error());
  if (member_of(x, "prepend_scheme").is_null())
    return *adds ? mark_prefix::always : mark_prefix::never;
  auto name = text_member(x, "prepend_scheme");
  if (!name)
    return tl::unexpected(name.error());
  if (*name != "never" && !*adds)
    return fail(ec::bad_format,
                "add_prefix_space: is false, but prepend_scheme is \"{}\"; "
                "expected \"never\"",
                *name);
  if (*name == "never")
    return mark_prefix::never;
  if (*name == "first")
    return mark_prefix::text_start;
  if (*name == "always")
    return mark_prefix::always;
  return fail(ec::bad_format,
              "prepend_scheme: expected first, never or always, found \"{}\"",
              *name);
}

result<split_rule> metaspace_of(const json& x) {
  auto mark = character_member(x, "replacement");
  if (!mark)
    return tl::unexpected(mark.error());
  auto prefix = mark_prefix_of(x);
  if (!prefix)
    return tl::unexpected(prefix.error());
  auto cuts = flag_member(x, "split", true);
  if (!cuts)
    return tl::unexpected(cuts.error());
  return metaspace_rule{*mark, *prefix, *cuts};
}

} // namespace

result<pre_tokenizer> pre_tokenizer::from_json(const json& x) {
  auto list = components(x, "pretokenizers");
  if (!list)
    return tl::unexpected(list.error());
  pre_tokenizer out;
  for (const auto* one : *list) {
    auto type = component_type(*one);
    if (!type)
      return tl::unexpected(type.error());
    if (auto added = out.add(*type, *one); !added)
      return wrap(*type, added.error());
  }
  return out;
}

result<void> pre_tokenizer::add(const std::string& type, const json& x) {
  using enum split_behavior;
  if (byte_level_)
    return fail(ec::unsupported, "stands after ByteLevel");
  if (type == "ByteLevel")
    return add_byte_level(x);
  if (type == "Whitespace") {
    auto done = add_pattern(words_and_signs, removed);
    if (done)
      std::get<pattern_rule>(rules_.back()).invert = true;
    return done;
  }
  if (type == "WhitespaceSplit")
    return add_pattern(R"(\s)", removed);
  if (type == "BertPreTokenizer") {
    auto done = add_pattern(R"(\s)", removed);
    return done ? add_pattern(punctuation, isolated) : done;
  }
  if (type == "Punctuation") {
    auto behavior = member_of(x, "behavior").is_null()
                      ? result<split_behavior>{isolated}
                      : behavior_of(x);
    return behavior ? add_pattern(punctuation, *behavior)
                    : tl::unexpected(behavior.error());
  }
  if (type == "Digits") {
    auto individual = flag_member(x, "individual_digits", false);
    return individual
             ? add_pattern(R"(\p{N})", *individual ? isolated : contiguous)
             : tl::unexpected(individual.error());
  }
  if (type != "Split" && type != "Metaspace")
    return unsupported_component("pre-tokenizer");
  auto rule = type == "Split" ? split_of(x) : metaspace_of(x);
  if (!rule)
    return tl::unexpected(rule.error());
  rules_.push_back(std::move(*rule));
  return {};
}

result<void> pre_tokenizer::add_pattern(std::string_view pattern,
                                        split_behavior behavior) {
  auto compiled = regex::compile(pattern);
  if (!compiled)
    return tl::unexpected(compiled.error());
  rules_.push_back(pattern_rule{std::move(*compiled), behavior, false});
  return {};
}

result<void> pre_tokenizer::add_byte_level(const json& x) {
  byte_level_ = true;
  auto prefix = flag_member(x, "add_prefix_space", true);
  if (!prefix)
    return tl::unexpected(prefix.error());
  auto use_regex = flag_member(x, "use_regex", true);
  if (!use_regex)
    return tl::unexpected(use_regex.error());
  if (*prefix)
    rules_.push_back(prefix_space_rule{});
  return *use_regex ? add_pattern(gpt2_words, split_behavior::isolated)
                    : result<void>{};
}

} // namespace troupe
