// See pre_tokenizer.hpp.
#include "runtime/model/pre_tokenizer.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/tokenizer_json.hpp"
#include "runtime/model/utf8.hpp"

#include <algorithm>

namespace troupe {

using nlohmann::json;

namespace {

/// The words of GPT-2: contractions, letters, digits, other signs (each with
/// at most one space in front), and white space but for the last before a word.
constexpr std::string_view gpt2_words =
  R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

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

result<regex> pattern_of(const json& x) {
  const auto& pattern = member_of(x, "pattern");
  if (member_of(pattern, "Regex").is_string())
    return regex::compile(pattern["Regex"].get_ref<const std::string&>());
  if (member_of(pattern, "String").is_string())
    return regex::literal(pattern["String"].get_ref<const std::string&>());
  return fail(ec::bad_format,
              "pattern: expected an object with a string Regex or String");
}

result<split_rule> split_of(const json& x) {
  split_rule rule;
  auto pattern = pattern_of(x);
  if (!pattern)
    return tl::unexpected(pattern.error());
  auto behavior = behavior_of(x);
  if (!behavior)
    return tl::unexpected(behavior.error());
  auto invert = flag_member(x, "invert", false);
  if (!invert)
    return tl::unexpected(invert.error());
  rule.pattern = *pattern;
  rule.behavior = *behavior;
  rule.invert = *invert;
  return rule;
}

result<split_rule> digits_of(const json& x) {
  auto individual = flag_member(x, "individual_digits", false);
  if (!individual)
    return tl::unexpected(individual.error());
  auto pattern = regex::compile(R"(\p{N})");
  if (!pattern)
    return tl::unexpected(pattern.error());
  split_rule rule;
  rule.pattern = *pattern;
  rule.behavior =
    *individual ? split_behavior::isolated : split_behavior::contiguous;
  return rule;
}

} // namespace

// -- pre_tokenizer ------------------------------------------------------------

result<pre_tokenizer> pre_tokenizer::from_json(const json& x) {
  auto list = components(x, "pretokenizers");
  if (!list)
    return tl::unexpected(list.error());
  pre_tokenizer out;
  for (const auto* one : *list) {
    auto type = component_type(*one);
    if (!type)
      return tl::unexpected(type.error());
    if (auto added = out.add(*one); !added)
      return wrap(*type, added.error());
  }
  if (!out.byte_level_)
    return fail(ec::unsupported,
                "expected ByteLevel as the last one; other alphabets are not "
                "supported");
  return out;
}

result<void> pre_tokenizer::add(const json& x) {
  auto type = component_type(x);
  if (!type)
    return tl::unexpected(type.error());
  if (byte_level_)
    return fail(ec::unsupported, "stands after ByteLevel");
  if (*type == "ByteLevel")
    return add_byte_level(x);
  if (*type != "Split" && *type != "Digits")
    return unsupported_component("pre-tokenizer");
  auto rule = *type == "Split" ? split_of(x) : digits_of(x);
  if (!rule)
    return tl::unexpected(rule.error());
  rules_.push_back(std::move(*rule));
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
  split_rule rule;
  rule.prefix_space = *prefix;
  if (*use_regex) {
    auto pattern = regex::compile(gpt2_words);
    if (!pattern)
      return tl::unexpected(pattern.error());
    rule.pattern = *pattern;
  }
  if (rule.prefix_space || rule.pattern)
    rules_.push_back(std::move(rule));
  return {};
}

// -- word_splitter ------------------------------------------------------------

word_splitter::word_splitter(const pre_tokenizer& rules) : rules_(&rules) {
  for (const auto& rule : rules.rules()) {
    scanners_.emplace_back();
    if (rule.pattern)
      scanners_.back().emplace(*rule.pattern);
  }
}

result<const std::vector<std::string_view>*>
word_splitter::split(std::string_view text) {
  words_.clear();
  if (!text.empty())
    words_.push_back(text);
  for (size_t i = 0; i < scanners_.size(); ++i) {
    next_words_.clear();
    auto* scanner = scanners_[i] ? &*scanners_[i] : nullptr;
    for (auto word : words_)
      if (auto done = apply(rules_->rules()[i], scanner, word); !done)
        return tl::unexpected(done.error());
    words_.swap(next_words_);
  }
  return &words_;
}

result<void> word_splitter::apply(const split_rule& rule,
                                  regex_scanner* scanner,
                                  std::string_view text) {
  if (rule.prefix_space && text.front() != ' ')
    text = prefixed_.emplace_back(' ' + std::string{text});
  if (!scanner) {
    next_words_.push_back(text);
    return {};
  }
  if (auto found = find_pieces(*scanner, text, rule.invert); !found)
    return found;
  put(text, rule.behavior);
  return {};
}

/// Fills `pieces_` with the matches in `text` and what lies between them.
result<void> word_splitter::find_pieces(regex_scanner& scanner,
                                        std::string_view text, bool invert) {
  pieces_.clear();
  size_t done = 0;
  size_t from = 0;
  while (from <= text.size()) {
    auto found = scanner.find(text, from);
    if (!found)
      return tl::unexpected(found.error());
    if (!*found)
      break;
    auto match = **found;
    if (done < match.begin)
      pieces_.push_back({{done, match.begin}, invert});
    pieces_.push_back({match, !invert});
    done = match.end;
    from = match.end;
    if (match.begin == match.end && from < text.size())
      from += first_utf8_piece(text.substr(from)).length;
    else if (match.begin == match.end)
      break;
  }
  if (done < text.size())
    pieces_.push_back({{done, text.size()}, invert});
  return {};
}

/// Appends the `pieces_` of `text` to `next_words_`.
void word_splitter::put(std::string_view text, split_behavior behavior) {
  using enum split_behavior;
  if (behavior == merged_with_next)
    std::reverse(pieces_.begin(), pieces_.end());
  size_t kept = 0; // pieces_[0, kept) are done
  bool after_match = false;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    auto x = pieces_[i];
    bool joins = kept > 0;
    if (behavior == contiguous)
      joins = joins && x.is_match == after_match;
    else if (behavior == merged_with_previous || behavior == merged_with_next)
      joins = joins && x.is_match && !after_match;
    else
      joins = false;
    after_match = x.is_match;
    if (joins) {
      auto& last = pieces_[kept - 1].range;
      last = {std::min(last.begin, x.range.begin),
              std::max(last.end, x.range.end)};
    } else if (behavior != removed || !x.is_match) {
      pieces_[kept++] = x;
    }
  }
  pieces_.resize(kept);
  if (behavior == merged_with_next)
    std::reverse(pieces_.begin(), pieces_.end());
  for (const auto& x : pieces_)
    if (x.range.begin < x.range.end)
      next_words_.push_back(
        text.substr(x.range.begin, x.range.end - x.range.begin));
}

} // namespace troupe
