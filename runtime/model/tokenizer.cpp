// See tokenizer.hpp.
#include "runtime/model/tokenizer.hpp"

#include "runtime/model/decode_stream.hpp"
#include "runtime/model/model_file.hpp"
#include "runtime/model/text_encoder.hpp"
#include "runtime/model/tokenizer_tables.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace troupe {

using nlohmann::json;

namespace {

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

std::string decode_all(std::span<const token_id> ids, decode_stream stream) {
  std::string out;
  for (auto id : ids)
    stream.push(id, out);
  stream.flush(out);
  return out;
}

} // namespace

// -- loading ------------------------------------------------------------------

result<tokenizer> tokenizer::load(const std::filesystem::path& path) {
  auto text = read_json_text(path.string(), file_bytes_max);
  if (!text)
    return tl::unexpected(std::move(text.error()));
  auto out = parse(*text);
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
    auto read = tokenizer_tables::from_json(x);
    if (!read)
      return tl::unexpected(std::move(read.error()));
    return tokenizer{std::move(*read)};
  } catch (const json::exception& e) {
    return fail(ec::bad_format, "no valid JSON: {}", e.what());
  } catch (const std::bad_alloc&) {
    return fail(ec::out_of_memory, "not enough memory to read the tokenizer");
  }
}

tokenizer::tokenizer(std::shared_ptr<const tokenizer_tables> x)
  : tables_(std::move(x)) {
  // nop
}

// -- encoding -----------------------------------------------------------------

result<std::vector<token_id>> tokenizer::encode(std::string_view text,
                                                encode_options options) const {
  text_stretch whole{text.size(), options.inside};
  return encode_stretches(text, {&whole, 1}, options.around);
}

result<std::vector<token_id>>
tokenizer::encode_pieces(std::span<const text_piece> pieces,
                         template_tokens around) const {
  auto joined = joined_text::from(pieces);
  return encode_stretches(joined.text, joined.stretches, around);
}

result<std::vector<token_id>>
tokenizer::encode_stretches(std::string_view text,
                            std::span<const text_stretch> stretches,
                            template_tokens around) const {
  if (text.size() > text_bytes_max)
    return fail(ec::invalid_argument,
                "text: has {} bytes, at most {} can be tokenized", text.size(),
                text_bytes_max);
  std::vector<token_id> out;
  bool add = around == template_tokens::add;
  if (add)
    out = tables_->around.before();
  auto done = text_encoder{*tables_, out, text.size()}.run(text, stretches);
  if (!done)
    return tl::unexpected(done.error());
  if (add)
    out.insert(out.end(), tables_->around.after().begin(),
               tables_->around.after().end());
  return out;
}

// -- decoding -----------------------------------------------------------------

std::string tokenizer::decode(std::span<const token_id> ids,
                              special_output special) const {
  return decode_all(ids, stream(special));
}

std::string tokenizer::decode_bytes(std::span<const token_id> ids,
                                    special_output special) const {
  return decode_all(ids, decode_stream{tables_, special, ill_formed::keep});
}

decode_stream tokenizer::stream(special_output special) const {
  return decode_stream{tables_, special, ill_formed::repair};
}

bool tokenizer::is_special(token_id id) const {
  return id >= 0 && static_cast<size_t>(id) < tables_->is_special.size() &&
         tables_->is_special[static_cast<size_t>(id)] != 0;
}

std::optional<token_id> tokenizer::find(std::string_view content) const {
  return tables_->vocab.find(content);
}

size_t tokenizer::vocab_size() const {
  return tables_->texts.size();
}

} // namespace troupe
