// See word_splitter.hpp.
#include "runtime/model/word_splitter.hpp"

#include <algorithm>

namespace troupe {

word_splitter::word_splitter(const pre_tokenizer& rules) : rules_(&rules) {
  for (const auto& rule : rules.rules()) {
    scanners_.emplace_back();
    if (auto* x = std::get_if<pattern_rule>(&rule))
      scanners_.back().emplace(x->pattern);
  }
}

result<const std::vector<std::string_view>*>
word_splitter::split(std::string_view text, text_place place) {
  words_.clear();
  if (!text.empty())
    words_.push_back(text);
  for (size_t i = 0; i < scanners_.size(); ++i) {
    next_words_.clear();
    auto here = place;
    for (auto word : words_) {
      if (auto done = apply(i, word, here); !done)
        return tl::unexpected(done.error());
      here = text_place::section_start; // a word is a piece of its own
    }
    bool cut_off = std::holds_alternative<pattern_rule>(rules_->rules()[i]) &&
                   !next_words_.empty() &&
                   next_words_.front().data() != words_.front().data();
    if (cut_off && place == text_place::text_start)
      place = text_place::section_start;
    words_.swap(next_words_);
  }
  return &words_;
}

result<void> word_splitter::apply(size_t i, std::string_view text,
                                  text_place place) {
  const auto& rule = rules_->rules()[i];
  if (auto* pattern = std::get_if<pattern_rule>(&rule)) {
    if (auto found = find_pieces(*scanners_[i], text, pattern->invert); !found)
      return found;
    put(text, pattern->behavior);
  } else if (auto* spaces = std::get_if<metaspace_rule>(&rule)) {
    metaspace(*spaces, text, place);
  } else if (auto* marks = std::get_if<before_marks_rule>(&rule)) {
    before_marks(*marks, text);
  } else {
    prefix_space(text, place);
  }
  return {};
}

void word_splitter::prefix_space(std::string_view text, text_place place) {
  if (text.front() != ' ' && place != text_place::later)
    text = rewritten_.emplace_back(' ' + std::string{text});
  next_words_.push_back(text);
}

void word_splitter::metaspace(const metaspace_rule& rule, std::string_view text,
                              text_place place) {
  bool has_mark = text.front() == ' ' || text.starts_with(rule.mark);
  bool wants_mark = rule.prefix == mark_prefix::always
                      ? place != text_place::later
                      : rule.prefix == mark_prefix::text_start &&
                          place == text_place::text_start;
  auto& out = rewritten_.emplace_back();
  out.reserve(text.size() + text.size() / 2 + rule.mark.size());
  if (wants_mark && !has_mark)
    out += rule.mark;
  for (size_t done = 0; done < text.size();) {
    auto space = std::min(text.find(' ', done), text.size());
    out.append(text, done, space - done);
    if (space < text.size())
      out += rule.mark;
    done = space + 1;
  }
  std::string_view rest = out;
  while (rule.cuts && !rest.empty()) {
    auto size = std::min(rest.find(rule.mark, 1), rest.size());
    next_words_.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  if (!rest.empty())
    next_words_.push_back(rest);
}

void word_splitter::before_marks(const before_marks_rule& rule,
                                 std::string_view text) {
  const auto& mark = rule.mark;
  size_t done = 0;
  size_t at = text.find(mark);
  while (at != std::string_view::npos) {
    if (done < at)
      next_words_.push_back(text.substr(done, at - done));
    done = at;
    while (text.substr(at).starts_with(mark))
      at += mark.size();
    at = text.find(mark, at);
  }
  if (done < text.size())
    next_words_.push_back(text.substr(done));
}

/// Fills `pieces_` with the matches in `text` and what lies between them.
result<void> word_splitter::find_pieces(regex_scanner& scanner,
                                        std::string_view text, bool invert) {
  pieces_.clear();
  size_t done = 0;
  match_walk matches{scanner, text};
  while (true) {
    auto found = matches.next();
    if (!found)
      return tl::unexpected(found.error());
    if (!*found)
      break;
    auto match = **found;
    if (done < match.begin)
      pieces_.push_back({{done, match.begin}, invert});
    pieces_.push_back({match, !invert});
    done = match.end;
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
