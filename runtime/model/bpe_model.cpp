// See bpe_model.hpp.
#include "runtime/model/bpe_model.hpp"

#include "runtime/model/byte_level.hpp"
#include "runtime/model/tokenizer_json.hpp"
#include "runtime/model/utf8.hpp"

namespace troupe {

using nlohmann::json;

namespace {

constexpr size_t merges_max = 4'000'000;

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

// -- reading ------------------------------------------------------------------

result<bpe_model> bpe_model::from_json(const json& x, alphabet letters,
                                       vocabulary& vocab) {
  bpe_model out;
  out.letters_ = letters;
  auto done = read_vocabulary(member_of(x, "vocab"), vocab);
  if (done)
    done = out.read_options(x);
  if (done)
    done = out.read_unknown(member_of(x, "unk_token"), vocab);
  if (done)
    done = out.read_bytes(vocab);
  if (done)
    done = out.read_merges(member_of(x, "merges"), vocab);
  if (!done)
    return tl::unexpected(done.error());
  if (letters == alphabet::characters)
    out.read_characters(vocab);
  return out;
}

result<void> bpe_model::read_unknown(const json& x, const vocabulary& vocab) {
  if (x.is_null())
    return {};
  if (!x.is_string())
    return fail(ec::bad_format, "unk_token: expected a string, found {}",
                x.type_name());
  unknown_ = vocab.find(x.get_ref<const std::string&>());
  if (!unknown_)
    return fail(ec::bad_format, "unk_token: {} is not in the vocabulary",
                x.dump());
  return {};
}

result<void> bpe_model::read_bytes(const vocabulary& vocab) {
  bool is_whole = true;
  for (unsigned byte = 0; byte < 256; ++byte) {
    auto id = letters_ == alphabet::bytes
                ? vocab.find(byte_level_character(static_cast<uint8_t>(byte)))
                : vocab.find(fmt::format("<0x{:02X}>", byte));
    byte_ids_[byte] = id.value_or(-1);
    is_whole = is_whole && id;
  }
  // Falling back would spell the alphabet's characters, not the text's bytes.
  if (byte_fallback_ && letters_ == alphabet::bytes && !is_whole)
    return unsupported_component("byte_fallback with ByteLevel");
  return {};
}

void bpe_model::read_characters(const vocabulary& vocab) {
  ascii_ids_.fill(-1);
  for (size_t i = 0; i < vocab.size(); ++i) {
    auto id = static_cast<token_id>(i);
    auto spelling = vocab.spelling(id);
    if (spelling.empty())
      continue;
    auto piece = first_utf8_piece(spelling);
    if (piece.length != spelling.size())
      continue;
    if (piece.point < ascii_ids_.size())
      ascii_ids_[piece.point] = id;
    else
      character_ids_[piece.point] = id;
  }
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
  byte_fallback_ = *fallback;
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
  bool is_bytes = letters_ == alphabet::bytes;
  if (ignore_merges_) {
    auto id = is_bytes ? vocab.find(to_byte_level(word)) : vocab.find(word);
    if (id) {
      out.push_back(*id);
      return {};
    }
  }
  scratch.ids.clear();
  auto started = is_bytes ? start_bytes(word, scratch.ids)
                          : start_characters(word, scratch.ids);
  if (!started)
    return started;
  merges_.apply(scratch);
  out.insert(out.end(), scratch.ids.begin(), scratch.ids.end());
  return {};
}

/// Appends one token per byte of `word`.
result<void> bpe_model::start_bytes(std::string_view word,
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

/// Appends the token of each character of `word`, or the tokens of its bytes,
/// or the unknown token. The latter waits for the next character that is not
/// spelled in bytes; so it was in the library that made the models' data.
result<void> bpe_model::start_characters(std::string_view word,
                                         std::vector<token_id>& out) const {
  bool unknown_waits = false;
  while (!word.empty()) {
    auto piece = first_utf8_piece(word);
    auto character = word.substr(0, piece.length);
    word.remove_prefix(piece.length);
    auto id =
      piece.kind == utf8_kind::valid ? character_id(piece.point) : token_id{-1};
    if (id >= 0) {
      if (unknown_waits)
        out.push_back(*unknown_);
      unknown_waits = false;
      out.push_back(id);
      continue;
    }
    if (byte_fallback_ && put_bytes(character, out))
      continue;
    if (!unknown_)
      return fail(
        ec::invalid_argument,
        "text: has \"{}\", for which the tokenizer has no token",
        piece.kind == utf8_kind::valid
          ? std::string{character}
          : fmt::format("0x{:02X}", static_cast<uint8_t>(character[0])));
    if (unknown_waits && !fuse_unknown_)
      out.push_back(*unknown_);
    unknown_waits = true;
  }
  if (unknown_waits)
    out.push_back(*unknown_);
  return {};
}

token_id bpe_model::character_id(char32_t point) const {
  if (point < ascii_ids_.size())
    return ascii_ids_[point];
  auto i = character_ids_.find(point);
  return i == character_ids_.end() ? -1 : i->second;
}

/// Appends the tokens of the bytes, if all are there.
bool bpe_model::put_bytes(std::string_view character,
                          std::vector<token_id>& out) const {
  auto before = out.size();
  for (char c : character) {
    auto id = byte_ids_[static_cast<uint8_t>(c)];
    if (id < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(id);
  }
  return true;
}

/// Tokens that no merge makes count too; that errs on the side of not cutting.
/// An unknown mark could be fused with what is before it.
bool bpe_model::cuts_before(std::string_view mark,
                            const vocabulary& vocab) const {
  if (letters_ != alphabet::characters || ignore_merges_ || !vocab.find(mark))
    return false;
  for (size_t i = 0; i < vocab.size(); ++i) {
    auto spelling = vocab.spelling(static_cast<token_id>(i));
    while (spelling.starts_with(mark))
      spelling.remove_prefix(mark.size());
    if (spelling.find(mark) != std::string_view::npos)
      return false;
  }
  return true;
}

} // namespace troupe
