// See unigram_model.hpp. The sums and ties are those of Hugging Face's
// library: float64, and of equal scores the one whose last token is longer.
#include "runtime/model/unigram_model.hpp"

#include "runtime/model/tokenizer_json.hpp"
#include "runtime/model/utf8.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

using nlohmann::json;

namespace {

constexpr double unknown_penalty = 10; // below the worst token
constexpr size_t tokens_max = 4'000'000;

struct scored_token {
  std::string_view spelling;
  double score;
};

result<scored_token> scored_token_of(const json& x) {
  if (!x.is_array() || x.size() != 2 || !x[0].is_string() || !x[1].is_number())
    return fail(ec::bad_format, "expected a token and its score, found {}",
                x.type_name());
  scored_token out{x[0].get_ref<const std::string&>(), x[1].get<double>()};
  if (out.spelling.size() > unigram_model::token_bytes_max)
    return fail(ec::bad_format, "has {} bytes, at most {} are accepted",
                out.spelling.size(), unigram_model::token_bytes_max);
  if (!std::isfinite(out.score))
    return fail(ec::bad_format, "expected a score that is a number");
  return out;
}

} // namespace

// -- reading ------------------------------------------------------------------

result<unigram_model> unigram_model::from_json(const json& x,
                                               vocabulary& vocab) {
  unigram_model out;
  auto fallback = flag_member(x, "byte_fallback", false);
  if (!fallback)
    return tl::unexpected(fallback.error());
  out.byte_fallback_ = *fallback;
  auto done = out.read_vocabulary(member_of(x, "vocab"), vocab);
  if (done)
    done = out.read_unknown(member_of(x, "unk_id"));
  if (!done)
    return tl::unexpected(done.error());
  for (unsigned byte = 0; byte < 256; ++byte)
    out.byte_ids_[byte] =
      vocab.find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  return out;
}

result<void> unigram_model::read_vocabulary(const json& list,
                                            vocabulary& vocab) {
  if (!list.is_array() || list.empty() || list.size() > tokens_max)
    return fail(ec::bad_format,
                "vocab: expected a list of 1 to {} tokens, found {}",
                tokens_max,
                list.is_array() ? std::to_string(list.size())
                                : std::string{list.type_name()});
  double least = 0;
  std::vector<byte_trie::key> keys;
  for (const auto& x : list) {
    auto id = static_cast<token_id>(scores_.size());
    auto token = scored_token_of(x);
    if (!token)
      return wrap(fmt::format("vocab[{}]", id), token.error());
    if (auto added = vocab.add(token->spelling, id); !added)
      return wrap("vocab", added.error());
    keys.push_back({token->spelling, id});
    least = scores_.empty() ? token->score : std::min(least, token->score);
    scores_.push_back(token->score);
  }
  unknown_score_ = least - unknown_penalty;
  tokens_ = byte_trie{std::move(keys)};
  return {};
}

result<void> unigram_model::read_unknown(const json& x) {
  if (x.is_null())
    return {};
  auto id = to_token_id(x);
  if (!id)
    return wrap("unk_id", id.error());
  if (static_cast<size_t>(*id) >= scores_.size())
    return fail(ec::bad_format,
                "unk_id: expected 0 to {} (the vocabulary's ids), found {}",
                scores_.size() - 1, *id);
  unknown_ = *id;
  return {};
}

// -- encoding -----------------------------------------------------------------

result<void> unigram_model::encode(std::string_view word,
                                   unigram_scratch& scratch,
                                   std::vector<token_id>& out) const {
  if (auto found = find_best(word, scratch); !found)
    return found;
  list_parts(word, scratch);
  const auto& parts = scratch.parts;
  for (auto i = parts.rbegin(); i != parts.rend(); ++i)
    put(word.substr(static_cast<size_t>(i->begin),
                    static_cast<size_t>(i->end - i->begin)),
        out);
  return {};
}

result<void> unigram_model::find_best(std::string_view word,
                                      unigram_scratch& scratch) const {
  auto& nodes = scratch.nodes;
  nodes.assign(word.size() + 1, {});
  size_t length = 0;
  for (size_t at = 0; at < word.size(); at += length) {
    length = first_utf8_piece(word.substr(at)).length;
    auto so_far = nodes[at].score;
    bool has_single = false;
    auto offer = [&](size_t size, double score, token_id id) {
      auto& node = nodes[at + size];
      if (node.begin < 0 || so_far + score > node.score)
        node = {so_far + score, static_cast<int32_t>(at), id};
    };
    tokens_.for_each_prefix(word.substr(at), [&](size_t size, token_id id) {
      offer(size, scores_[static_cast<size_t>(id)], id);
      has_single = has_single || size == length;
    });
    if (has_single)
      continue;
    if (!unknown_)
      return fail(ec::invalid_argument,
                  "text: has a character without a token, and the tokenizer "
                  "has no unknown token");
    offer(length, unknown_score_, *unknown_);
  }
  return {};
}

/// Lists the parts of the best way, the last one first.
void unigram_model::list_parts(std::string_view word,
                               unigram_scratch& scratch) const {
  auto& parts = scratch.parts;
  parts.clear();
  for (auto end = static_cast<int32_t>(word.size()); end > 0;) {
    const auto& node = scratch.nodes[static_cast<size_t>(end)];
    bool is_unknown = node.id == unknown_;
    if (is_unknown && !parts.empty() && parts.back().is_unknown)
      parts.back().begin = node.begin;
    else
      parts.push_back({node.begin, end, is_unknown});
    end = node.begin;
  }
}

/// Appends the token that is spelled `part`, or what stands for it.
void unigram_model::put(std::string_view part,
                        std::vector<token_id>& out) const {
  if (auto id = tokens_.find(part); id >= 0) {
    out.push_back(id);
    return;
  }
  bool in_bytes =
    byte_fallback_ && std::all_of(part.begin(), part.end(), [&](char c) {
      return byte_ids_[static_cast<uint8_t>(c)] >= 0;
    });
  if (!in_bytes) {
    out.push_back(*unknown_);
    return;
  }
  for (char c : part)
    out.push_back(byte_ids_[static_cast<uint8_t>(c)]);
}

} // namespace troupe
