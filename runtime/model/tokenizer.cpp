// See tokenizer.hpp.
#include "runtime/model/tokenizer.hpp"

#include "runtime/model/added_tokens.hpp"
#include "runtime/model/bpe_model.hpp"
#include "runtime/model/normalizer.hpp"
#include "runtime/model/post_processor.hpp"
#include "runtime/model/pre_tokenizer.hpp"
#include "runtime/model/token_decoder.hpp"
#include "runtime/model/tokenizer_json.hpp"
#include "runtime/model/utf8.hpp"
#include "runtime/model/vocabulary.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <fstream>
#include <functional>
#include <system_error>

namespace troupe {

using nlohmann::json;

/// Everything a tokenizer.json says.
struct tokenizer::tables {
  vocabulary vocab;
  normalizer normal;
  pre_tokenizer words;
  bpe_model model;
  post_processor around;
  added_tokens added;
  std::vector<std::string> bytes;  // by id
  std::vector<uint8_t> is_special; // by id

  static result<std::shared_ptr<const tables>> from_json(const json& x);

  void list_tokens(const token_decoder& decoder);
};

namespace {

/// The words of one text that were encoded already: a word met again costs a
/// comparison and a copy. Direct-mapped, so its size is bounded.
class word_cache {
public:
  struct entry {
    std::string_view word;
    size_t begin = 0; // its ids in the output
    size_t count = 0;
  };

  static constexpr size_t word_bytes_max = 128;

  explicit word_cache(size_t text_bytes)
    : entries_(std::bit_ceil(std::clamp<size_t>(text_bytes / 8, 1, 32768))) {
    // nop
  }

  entry& slot_of(std::string_view word) {
    auto hash = std::hash<std::string_view>{}(word);
    return entries_[hash & (entries_.size() - 1)];
  }

private:
  std::vector<entry> entries_; // a power of two of them
};

/// Depth of the arrays and objects of a JSON text, found without building
/// anything: a file of a million brackets is refused before it costs memory.
size_t json_depth(std::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

result<bpe_model> read_model(const json& x, vocabulary& vocab) {
  // Old files leave the type out.
  const auto& type = member_of(x, "type");
  if (!x.is_object())
    return fail(ec::bad_format, "expected an object, found {}", x.type_name());
  if (!type.is_null() && type != "BPE")
    return unsupported_component(type.is_string() ? type.get<std::string>()
                                                  : type.dump());
  return bpe_model::from_json(x, vocab);
}

/// Takes the value out of `read` into `target`, or says where it failed.
template <class T>
result<void> take(const char* where, result<T>&& read, T& target) {
  if (!read)
    return wrap(where, std::move(read.error()));
  target = std::move(*read);
  return {};
}

} // namespace

// -- loading ------------------------------------------------------------------

result<std::shared_ptr<const tokenizer::tables>>
tokenizer::tables::from_json(const json& x) {
  auto out = std::make_shared<tables>();
  auto& t = *out;
  token_decoder decoder;
  result<void> done = {};
  auto read = [&](const char* key, auto from_part, auto& target) {
    if (done)
      done = take(key, from_part(member_of(x, key)), target);
  };
  read("normalizer", normalizer::from_json, t.normal);
  read("pre_tokenizer", pre_tokenizer::from_json, t.words);
  read(
    "model", [&](const json& part) { return read_model(part, t.vocab); },
    t.model);
  read(
    "added_tokens",
    [&](const json& part) {
      return added_tokens::from_json(part, t.normal, t.vocab);
    },
    t.added);
  read(
    "post_processor",
    [&](const json& part) { return post_processor::from_json(part, t.vocab); },
    t.around);
  read("decoder", token_decoder::from_json, decoder);
  if (!done)
    return tl::unexpected(done.error());
  t.list_tokens(decoder);
  return std::shared_ptr<const tables>{std::move(out)};
}

void tokenizer::tables::list_tokens(const token_decoder& decoder) {
  for (size_t id = 0; id < vocab.size(); ++id)
    bytes.push_back(
      decoder.bytes_of(vocab.spelling(static_cast<token_id>(id))));
  is_special.resize(bytes.size());
  for (const auto& token : added.list())
    is_special[static_cast<size_t>(token.id)] = token.special;
}

result<tokenizer> tokenizer::load(const std::filesystem::path& path) {
  std::error_code failed;
  auto size = std::filesystem::file_size(path, failed);
  if (failed)
    return fail(failed == std::errc::no_such_file_or_directory ? ec::not_found
                                                               : ec::io,
                "{}: cannot read: {}", path.string(), failed.message());
  if (size > file_bytes_max)
    return fail(ec::bad_format, "{}: has {} bytes, at most {} are accepted",
                path.string(), size, file_bytes_max);
  std::ifstream file{path, std::ios::binary};
  std::string text(static_cast<size_t>(size), '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size)))
    return fail(ec::io, "{}: cannot read its {} bytes", path.string(), size);
  auto out = parse(text);
  if (!out)
    return wrap(path.string(), std::move(out.error()));
  return out;
}

result<tokenizer> tokenizer::parse(std::string_view json_text) {
  constexpr size_t depth_max = 64;
  if (json_text.size() > file_bytes_max)
    return fail(ec::bad_format, "has {} bytes, at most {} are accepted",
                json_text.size(), file_bytes_max);
  if (json_depth(json_text) > depth_max)
    return fail(ec::bad_format, "nested more than {} deep", depth_max);
  try {
    auto x = json::parse(json_text.begin(), json_text.end());
    if (!x.is_object())
      return fail(ec::bad_format, "expected a JSON object, found {}",
                  x.type_name());
    auto read = tables::from_json(x);
    if (!read)
      return tl::unexpected(std::move(read.error()));
    return tokenizer{std::move(*read)};
  } catch (const json::exception& e) {
    return fail(ec::bad_format, "no valid JSON: {}", e.what());
  } catch (const std::bad_alloc&) {
    return fail(ec::out_of_memory, "not enough memory to read the tokenizer");
  }
}

tokenizer::tokenizer(std::shared_ptr<const tables> x) : tables_(std::move(x)) {
  // nop
}

// -- encoding -----------------------------------------------------------------

/// The encoding of one text.
class tokenizer::encoding {
public:
  encoding(const tables& t, size_t text_bytes)
    : t_(t), splitter_(t.words), cache_(text_bytes) {
    ids_.reserve(text_bytes / 4 + 16);
  }

  result<std::vector<token_id>> run(std::string_view text,
                                    encode_options options) {
    bool add = options.around == template_tokens::add;
    bool as_text = options.inside == special_text::as_text;
    if (add)
      append(t_.around.before());
    std::vector<text_section> sections;
    t_.added.in_raw_text().split({text, &t_.added.list(), as_text}, sections);
    for (const auto& x : sections) {
      auto done = x.token ? put(*x.token) : raw_text(x.text, as_text);
      if (!done)
        return tl::unexpected(done.error());
    }
    if (add)
      append(t_.around.after());
    return std::move(ids_);
  }

private:
  void append(const std::vector<token_id>& ids) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }

  result<void> put(const added_token& x) {
    ids_.push_back(x.id);
    return {};
  }

  /// Text as it came. What is not UTF-8 in it goes to the model byte by byte.
  result<void> raw_text(std::string_view text, bool as_text) {
    while (!text.empty()) {
      auto good = valid_utf8_length(text);
      if (good > 0)
        if (auto done = valid_text(text.substr(0, good), as_text); !done)
          return done;
      text.remove_prefix(good);
      size_t bad = 0;
      while (bad < text.size()) {
        auto piece = first_utf8_piece(text.substr(bad));
        if (piece.kind == utf8_kind::valid)
          break;
        bad += piece.length;
      }
      if (bad > 0)
        if (auto done = word(text.substr(0, bad)); !done)
          return done;
      text.remove_prefix(bad);
    }
    return {};
  }

  result<void> valid_text(std::string_view text, bool as_text) {
    if (!t_.normal.keeps(text)) {
      auto normal = t_.normal.apply(text);
      if (!normal)
        return tl::unexpected(normal.error());
      text = normalized_.emplace_back(std::move(*normal));
    }
    std::vector<text_section> sections;
    t_.added.in_normalized_text().split({text, &t_.added.list(), as_text},
                                        sections);
    for (const auto& x : sections) {
      auto done = x.token ? put(*x.token) : plain_text(x.text);
      if (!done)
        return done;
    }
    return {};
  }

  result<void> plain_text(std::string_view text) {
    auto words = splitter_.split(text);
    if (!words)
      return tl::unexpected(words.error());
    for (auto x : **words)
      if (auto done = word(x); !done)
        return done;
    return {};
  }

  result<void> word(std::string_view x) {
    if (x.size() > word_cache::word_bytes_max)
      return t_.model.encode(x, t_.vocab, scratch_, ids_);
    auto& known = cache_.slot_of(x);
    auto begin = ids_.size();
    if (known.word == x) {
      ids_.resize(begin + known.count);
      std::copy_n(ids_.begin() + static_cast<ptrdiff_t>(known.begin),
                  known.count, ids_.begin() + static_cast<ptrdiff_t>(begin));
      return {};
    }
    auto done = t_.model.encode(x, t_.vocab, scratch_, ids_);
    if (done)
      known = {x, begin, ids_.size() - begin};
    return done;
  }

  const tables& t_;
  word_splitter splitter_;
  word_cache cache_;
  bpe_scratch scratch_;
  std::deque<std::string> normalized_; // the cache's words point into it
  std::vector<token_id> ids_;
};

result<std::vector<token_id>> tokenizer::encode(std::string_view text,
                                                encode_options options) const {
  if (text.size() > text_bytes_max)
    return fail(ec::invalid_argument,
                "text: has {} bytes, at most {} can be tokenized", text.size(),
                text_bytes_max);
  return encoding{*tables_, text.size()}.run(text, options);
}

// -- decoding -----------------------------------------------------------------

std::string tokenizer::decode(std::span<const token_id> ids,
                              special_output special) const {
  std::string out;
  append_repaired(out, decode_bytes(ids, special));
  return out;
}

std::string tokenizer::decode_bytes(std::span<const token_id> ids,
                                    special_output special) const {
  std::string out;
  for (auto id : ids)
    if (special == special_output::keep || !is_special(id))
      out += token_bytes(id);
  return out;
}

std::string_view tokenizer::token_bytes(token_id id) const {
  if (id < 0 || static_cast<size_t>(id) >= tables_->bytes.size())
    return {};
  return tables_->bytes[static_cast<size_t>(id)];
}

bool tokenizer::is_special(token_id id) const {
  return id >= 0 && static_cast<size_t>(id) < tables_->is_special.size() &&
         tables_->is_special[static_cast<size_t>(id)] != 0;
}

std::optional<token_id> tokenizer::find(std::string_view content) const {
  return tables_->vocab.find(content);
}

size_t tokenizer::vocab_size() const {
  return tables_->bytes.size();
}

} // namespace troupe
