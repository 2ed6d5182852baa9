// See bpe_model.hpp. Short words scan an array of ranks, long ones use a heap
// and a linked list; both take the lowest rank first and the leftmost of
// equals, so they give the same tokens.
#include "runtime/model/bpe_model.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/byte_level.hpp"
#include "runtime/model/tokenizer_json.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace troupe {

using nlohmann::json;

namespace {

constexpr uint32_t no_rank = std::numeric_limits<uint32_t>::max();
constexpr size_t short_word_max = 64;
constexpr size_t merges_max = 4'000'000;

uint64_t pair_of(token_id left, token_id right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) |
         static_cast<uint32_t>(right);
}

/// Order of a heap whose top is the step to take next.
bool is_later(const bpe_scratch::step& x, const bpe_scratch::step& y) {
  return x.rank != y.rank ? x.rank > y.rank : x.at > y.at;
}

result<void> read_vocabulary(const json& object, vocabulary& vocab) {
  if (!object.is_object() || object.empty())
    return fail(ec::bad_format,
                "vocab: expected an object with tokens, found "
                "{}",
                object.type_name());
  for (const auto& [spelling, value] : object.items()) {
    auto id = to_token_id(value);
    if (!id)
      return wrap(fmt::format("vocab: \"{}\"", spelling), id.error());
    if (auto added = vocab.add(spelling, *id); !added)
      return wrap("vocab", added.error());
  }
  return {};
}

} // namespace

// -- merge_table --------------------------------------------------------------

merge_table::merge_table(size_t count)
  : entries_(std::bit_ceil(std::max<size_t>(2 * count, 2))) {
  // nop
}

size_t merge_table::slot_of(uint64_t pair) const {
  auto mixed = pair * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(mixed ^ (mixed >> 32)) & (entries_.size() - 1);
}

void merge_table::add(token_id left, token_id right, uint32_t rank,
                      token_id merged) {
  auto pair = pair_of(left, right);
  auto slot = slot_of(pair);
  while (entries_[slot].pair != empty_pair && entries_[slot].pair != pair)
    slot = (slot + 1) & (entries_.size() - 1);
  entries_[slot] = {pair, rank, merged};
}

const merge_table::entry* merge_table::find(token_id left,
                                            token_id right) const {
  auto pair = pair_of(left, right);
  auto slot = slot_of(pair);
  while (entries_[slot].pair != empty_pair) {
    if (entries_[slot].pair == pair)
      return &entries_[slot];
    slot = (slot + 1) & (entries_.size() - 1);
  }
  return nullptr;
}

// -- reading ------------------------------------------------------------------

result<bpe_model> bpe_model::from_json(const json& x, vocabulary& vocab) {
  bpe_model out;
  if (auto done = read_vocabulary(member_of(x, "vocab"), vocab); !done)
    return tl::unexpected(done.error());
  if (auto done = out.read_options(x); !done)
    return tl::unexpected(done.error());
  const auto& unknown = member_of(x, "unk_token");
  if (unknown.is_string()) {
    out.unknown_ = vocab.find(unknown.get_ref<const std::string&>());
    if (!out.unknown_)
      return fail(ec::bad_format, "unk_token: {} is not in the vocabulary",
                  unknown.dump());
  } else if (!unknown.is_null()) {
    return fail(ec::bad_format, "unk_token: expected a string, found {}",
                unknown.type_name());
  }
  for (unsigned byte = 0; byte < 256; ++byte)
    out.byte_ids_[byte] =
      vocab.find(byte_level_character(static_cast<uint8_t>(byte))).value_or(-1);
  if (auto done = out.read_merges(member_of(x, "merges"), vocab); !done)
    return tl::unexpected(done.error());
  return out;
}

result<void> bpe_model::read_options(const json& x) {
  const auto& dropout = member_of(x, "dropout");
  if (!dropout.is_null() && !(dropout.is_number() && dropout == 0))
    return unsupported_component("dropout");
  for (auto key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto& affix = member_of(x, key);
    if (!affix.is_null() && affix != "")
      return unsupported_component(key);
  }
  auto fallback = flag_member(x, "byte_fallback", false);
  auto fuse = flag_member(x, "fuse_unk", false);
  auto ignore = flag_member(x, "ignore_merges", false);
  for (auto* flag : {&fallback, &fuse, &ignore})
    if (!*flag)
      return tl::unexpected(flag->error());
  if (*fallback)
    return unsupported_component("byte_fallback");
  fuse_unknown_ = *fuse;
  ignore_merges_ = *ignore;
  return {};
}

result<void> bpe_model::read_merges(const json& list, const vocabulary& vocab) {
  if (!list.is_array() || list.size() > merges_max)
    return fail(ec::bad_format,
                "merges: expected a list of at most {}, found {}", merges_max,
                list.is_array() ? std::to_string(list.size())
                                : std::string{list.type_name()});
  merges_ = merge_table{list.size()};
  uint32_t rank = 0;
  for (const auto& x : list) {
    if (auto added = add_merge(x, rank, vocab); !added)
      return wrap(fmt::format("merges[{}]", rank), added.error());
    ++rank;
  }
  return {};
}

/// A merge is written ["left", "right"] or, in older files, "left right".
result<void> bpe_model::add_merge(const json& x, uint32_t rank,
                                  const vocabulary& vocab) {
  std::string_view left;
  std::string_view right;
  if (x.is_array() && x.size() == 2 && x[0].is_string() && x[1].is_string()) {
    left = x[0].get_ref<const std::string&>();
    right = x[1].get_ref<const std::string&>();
  } else if (x.is_string()) {
    std::string_view both = x.get_ref<const std::string&>();
    auto space = both.find(' ');
    if (space == std::string_view::npos ||
        both.find(' ', space + 1) != std::string_view::npos)
      return fail(ec::bad_format,
                  "expected two tokens with a space between, found {}",
                  x.dump());
    left = both.substr(0, space);
    right = both.substr(space + 1);
  } else {
    return fail(ec::bad_format, "expected a pair of tokens, found {}",
                x.type_name());
  }
  auto merged = std::string{left} + std::string{right};
  auto left_id = vocab.find(left);
  auto right_id = vocab.find(right);
  auto merged_id = vocab.find(merged);
  if (!left_id || !right_id || !merged_id)
    return fail(ec::bad_format, "\"{}\" is not in the vocabulary",
                !left_id    ? left
                : !right_id ? right
                            : merged);
  merges_.add(*left_id, *right_id, rank, *merged_id);
  return {};
}

// -- encoding -----------------------------------------------------------------

result<void> bpe_model::encode(std::string_view word, const vocabulary& vocab,
                               bpe_scratch& scratch,
                               std::vector<token_id>& out) const {
  if (ignore_merges_) {
    if (auto id = vocab.find(to_byte_level(word))) {
      out.push_back(*id);
      return {};
    }
  }
  scratch.ids.clear();
  if (auto started = start(word, scratch.ids); !started)
    return started;
  if (scratch.ids.size() <= short_word_max)
    merge_short(scratch);
  else
    merge_long(scratch);
  out.insert(out.end(), scratch.ids.begin(), scratch.ids.end());
  return {};
}

/// Appends one token per byte of `word`.
result<void> bpe_model::start(std::string_view word,
                              std::vector<token_id>& out) const {
  bool after_unknown = false;
  for (char c : word) {
    auto byte = static_cast<uint8_t>(c);
    bool is_unknown = byte_ids_[byte] < 0;
    if (is_unknown && !unknown_)
      return fail(ec::invalid_argument,
                  "text: has the byte 0x{:02X}, for which the tokenizer has no "
                  "token",
                  byte);
    if (!is_unknown)
      out.push_back(byte_ids_[byte]);
    else if (!after_unknown || !fuse_unknown_)
      out.push_back(*unknown_);
    after_unknown = is_unknown;
  }
  return {};
}

uint32_t bpe_model::rank_of(token_id left, token_id right) const {
  auto* merge = merges_.find(left, right);
  return merge ? merge->rank : no_rank;
}

void bpe_model::merge_short(bpe_scratch& scratch) const {
  auto& ids = scratch.ids;
  auto& ranks = scratch.ranks;
  ranks.clear();
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    ranks.push_back(rank_of(ids[i], ids[i + 1]));
  while (!ranks.empty()) {
    auto best = std::min_element(ranks.begin(), ranks.end());
    if (*best == no_rank)
      return;
    auto at = best - ranks.begin();
    auto i = static_cast<size_t>(at);
    ids[i] = merges_.find(ids[i], ids[i + 1])->merged;
    ids.erase(ids.begin() + at + 1);
    ranks.erase(best);
    if (i < ranks.size())
      ranks[i] = rank_of(ids[i], ids[i + 1]);
    if (i > 0)
      ranks[i - 1] = rank_of(ids[i - 1], ids[i]);
  }
}

/// Puts the pair that begins at symbol `at` into the heap, if it can merge.
void bpe_model::offer(bpe_scratch& scratch, int32_t at) const {
  if (at < 0)
    return;
  const auto& left = scratch.symbols[static_cast<size_t>(at)];
  if (left.next < 0)
    return;
  const auto& right = scratch.symbols[static_cast<size_t>(left.next)];
  if (auto rank = rank_of(left.id, right.id); rank != no_rank) {
    scratch.steps.push_back({rank, at, left.id, right.id});
    std::push_heap(scratch.steps.begin(), scratch.steps.end(), is_later);
  }
}

void bpe_model::merge_long(bpe_scratch& scratch) const {
  constexpr token_id merged_away = -1;
  auto& symbols = scratch.symbols;
  auto& steps = scratch.steps;
  symbols.clear();
  steps.clear();
  auto count = static_cast<int32_t>(scratch.ids.size());
  for (int32_t i = 0; i < count; ++i)
    symbols.push_back(
      {scratch.ids[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  for (int32_t i = 0; i < count; ++i)
    offer(scratch, i);
  while (!steps.empty()) {
    std::pop_heap(steps.begin(), steps.end(), is_later);
    auto step = steps.back();
    steps.pop_back();
    auto& left = symbols[static_cast<size_t>(step.at)];
    if (left.id != step.left || left.next < 0)
      continue; // the pair is gone
    auto& right = symbols[static_cast<size_t>(left.next)];
    if (right.id != step.right)
      continue;
    left.id = merges_.find(step.left, step.right)->merged;
    left.next = right.next;
    right.id = merged_away;
    if (left.next >= 0)
      symbols[static_cast<size_t>(left.next)].previous = step.at;
    offer(scratch, left.previous);
    offer(scratch, step.at);
  }
  scratch.ids.clear();
  for (int32_t i = 0; i >= 0; i = symbols[static_cast<size_t>(i)].next)
    scratch.ids.push_back(symbols[static_cast<size_t>(i)].id);
}

} // namespace troupe
