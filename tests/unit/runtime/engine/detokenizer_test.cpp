#include "runtime/engine/detokenizer.hpp"

#include "runtime/model/byte_level.hpp"
#include "runtime/model/token_decoder.hpp"
#include "runtime/model/utf8.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

using namespace troupe;
using nlohmann::json;

namespace {

tokenizer demo_tokenizer() {
  auto out = tokenizer::load("models/demo/tokenizer.json");
  BOOST_REQUIRE(out.has_value());
  return *out;
}

/// A tokenizer, the file it came from, and its tokens as written there.
struct sample {
  json file;
  tokenizer tokens;
  std::map<token_id, std::string> spellings;
};

std::map<token_id, std::string> spellings_of(const json& vocab) {
  std::map<token_id, std::string> out;
  for (const auto& [key, value] : vocab.items())
    if (vocab.is_object())
      out[value.get<token_id>()] = key;
    else
      out[static_cast<token_id>(out.size())] = value[0].get<std::string>();
  return out;
}

sample streamed(const char* path, const char* patch) {
  std::ifstream stream{path};
  auto file = json::parse(stream);
  file.merge_patch(json::parse(patch));
  auto tokens = tokenizer::parse(file.dump());
  BOOST_REQUIRE_MESSAGE(tokens, tokens.error().message);
  auto spellings = spellings_of(file["model"]["vocab"]);
  return {std::move(file), std::move(*tokens), std::move(spellings)};
}

/// Byte-level, byte fallback and marks for spaces, and orders of components.
std::vector<sample> streamed_tokenizers() {
  constexpr auto* fallback = "tests/golden/tokenizers/fallback.json";
  return {
    streamed("models/demo/tokenizer.json", "{}"),
    streamed("models/demo/tokenizer.json", R"({"decoder": {"type": "Sequence",
      "decoders": [{"type": "ByteLevel"},
        {"type": "Strip", "content": "e", "start": 2, "stop": 1},
        {"type": "Replace", "pattern": {"String": "a"}, "content": ""}]}})"),
    streamed(fallback, "{}"),
    streamed("tests/golden/tokenizers/unigram.json", "{}"),
    streamed(fallback, R"({"decoder": {"type": "Sequence", "decoders": [
      {"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "\u2581",
        "prepend_scheme": "first"}]}})"),
    streamed(fallback, R"({"decoder": {"type": "Sequence", "decoders": [
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": "\u2581", "start": 1, "stop": 3},
      {"type": "Replace", "pattern": {"String": "\u2581"}, "content": "__"}]}})"),
  };
}

using tokens_list = std::vector<std::string>;

/// One component on all tokens, as the rule is told.
tokens_list component(const json& x, tokens_list tokens) {
  auto type = x["type"].get<std::string>();
  tokens_list out;
  std::string run;
  auto end_run = [&] {
    if (valid_utf8_length(run) == run.size() && !run.empty())
      out.push_back(run);
    else
      out.insert(out.end(), run.size(), "\xEF\xBF\xBD");
    run.clear();
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    auto token = tokens[i];
    if (type == "ByteFallback" && token.size() == 6 &&
        token.substr(0, 3) == "<0x") {
      run.push_back(
        static_cast<char>(std::stoi(token.substr(3, 2), nullptr, 16)));
      continue;
    }
    end_run();
    if (type == "Replace")
      token = replaced(token, x["pattern"]["String"].get<std::string>(),
                       x["content"].get<std::string>());
    if (type == "Metaspace")
      token =
        replaced(token, x["replacement"].get<std::string>(), i == 0 ? "" : " ");
    if (type == "ByteLevel")
      token = from_byte_level(token);
    auto edge = type == "Strip" ? x["content"].get<std::string>() : "";
    for (int n = 0; !edge.empty() && n < x["start"] && token.starts_with(edge);
         ++n)
      token.erase(0, edge.size());
    for (int n = 0; !edge.empty() && n < x["stop"] && token.ends_with(edge);
         ++n)
      token.resize(token.size() - edge.size());
    out.push_back(token);
  }
  end_run();
  if (type != "Fuse" && type != "ByteLevel")
    return out;
  std::string all;
  for (const auto& token : out)
    all += token;
  std::string repaired;
  append_repaired(repaired, all);
  return {repaired};
}

std::string decoded_at_once(const sample& x, const std::vector<token_id>& ids,
                            special_output special) {
  tokens_list tokens;
  for (auto id : ids)
    if (x.spellings.contains(id) &&
        (special == special_output::keep || !x.tokens.is_special(id)))
      tokens.push_back(x.spellings.at(id));
  const auto& decoder = x.file["decoder"];
  if (decoder["type"] == "Sequence")
    for (const auto& part : decoder["decoders"])
      tokens = component(part, std::move(tokens));
  else
    tokens = component(decoder, std::move(tokens));
  std::string out;
  for (const auto& token : tokens)
    out += token;
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(detokenizer_suite)

BOOST_AUTO_TEST_CASE(the_pieces_are_valid_and_add_up_to_the_whole_text) {
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (const auto& x : streamed_tokenizers())
    for (int round = 0; round < 1000; ++round) {
      // Low ids are single bytes: many characters that never become whole.
      auto limit = round % 2 == 0 ? 300u : 4200u;
      auto special =
        round % 3 == 0 ? special_output::keep : special_output::skip;
      std::vector<token_id> ids;
      std::string text;
      detokenizer stream{x.tokens, special};
      for (unsigned i = 0; i < random() % 40; ++i) {
        ids.push_back(static_cast<token_id>(random() % limit));
        auto piece = stream.push(ids.back());
        BOOST_REQUIRE(valid_utf8_length(piece) == piece.size());
        text += piece;
      }
      text += stream.flush();
      BOOST_REQUIRE_MESSAGE(text == x.tokens.decode(ids, special),
                            "seed " << seed << ", round " << round);
      BOOST_REQUIRE_MESSAGE(text == decoded_at_once(x, ids, special),
                            "seed " << seed << ", round " << round << ", "
                                    << x.file["decoder"]);
    }
}

BOOST_AUTO_TEST_CASE(only_the_start_of_the_text_loses_its_space) {
  auto x = streamed("tests/golden/tokenizers/fallback.json", "{}");
  auto ids = *x.tokens.encode("the the");
  for (int text = 0; text < 2; ++text) { // a stream begins anew after its end
    detokenizer stream{x.tokens};
    std::string out;
    for (auto id : ids)
      out += stream.push(id);
    out += stream.flush();
    for (auto id : ids)
      out += stream.push(id);
    BOOST_TEST(out == "the thethe the");
  }
}

BOOST_AUTO_TEST_CASE(a_run_of_byte_tokens_waits_for_its_end) {
  auto x = streamed("tests/golden/tokenizers/fallback.json", "{}");
  detokenizer stream{x.tokens};
  BOOST_TEST(stream.push(*x.tokens.find("a")) == "a");
  BOOST_TEST(stream.push(*x.tokens.find("<0x42>")).empty());
  BOOST_TEST(stream.push(*x.tokens.find("a")) == "Ba");
  BOOST_TEST(stream.push(*x.tokens.find("<0xC3>")).empty());
  BOOST_TEST(stream.flush() == "\xEF\xBF\xBD");
}

BOOST_AUTO_TEST_CASE(a_character_leaves_when_its_last_byte_is_there) {
  auto tokens = demo_tokenizer();
  auto ids = *tokens.encode("\xF0\x9F\x8E\xAD"); // U+1F3AD
  BOOST_REQUIRE(ids.size() > 1u);
  detokenizer stream{tokens};
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    BOOST_TEST(stream.push(ids[i]).empty());
  BOOST_TEST(stream.push(ids.back()) == "\xF0\x9F\x8E\xAD");
  BOOST_TEST(stream.flush().empty());
}

BOOST_AUTO_TEST_CASE(a_character_cut_short_ends_as_a_replacement) {
  auto tokens = demo_tokenizer();
  auto ids = *tokens.encode("\xF0\x9F\x8E");
  detokenizer stream{tokens};
  for (auto id : ids)
    BOOST_TEST(stream.push(id).empty());
  BOOST_TEST(stream.flush() == "\xEF\xBF\xBD");
  BOOST_TEST(stream.flush().empty());
}

BOOST_AUTO_TEST_CASE(special_tokens_are_left_out_unless_asked_for) {
  auto tokens = demo_tokenizer();
  auto end = *tokens.find("<|im_end|>");
  detokenizer hidden{tokens};
  BOOST_TEST(hidden.push(end).empty());
  detokenizer shown{tokens, special_output::keep};
  BOOST_TEST(shown.push(end) == "<|im_end|>");
}

BOOST_AUTO_TEST_SUITE_END()
