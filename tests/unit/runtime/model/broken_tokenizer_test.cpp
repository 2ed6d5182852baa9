// Files that are no valid tokenizer, or ask for what is not there: a clear
// error that names the place, never a crash.
#include "runtime/model/tokenizer.hpp"
#include "tests/unit/runtime/model/tokenizer_samples.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using nlohmann::json;

namespace {

/// A patch of the demo tokenizer, and what its error must be.
struct broken_case {
  const char* patch;
  ec code;
  const char* names; // a part of the message
};

const broken_case broken_cases[] = {
  {R"({"model": null})", ec::bad_format, "model: expected an object"},
  {R"({"model": {"type": "WordPiece"}})", ec::unsupported, "model: WordPiece"},
  {R"({"model": {"type": 7}})", ec::bad_format, "type"},
  {R"({"model": {"type": "Unigram"}})", ec::unsupported,
   "Unigram with ByteLevel"},
  {R"({"model": {"byte_fallback": true, "vocab": {"z": null}, "merges": []}})",
   ec::unsupported, "byte_fallback with ByteLevel"},
  {R"({"model": {"dropout": 0.1}})", ec::unsupported, "dropout"},
  {R"({"model": {"continuing_subword_prefix": "##"}})", ec::unsupported,
   "continuing_subword_prefix"},
  {R"({"model": {"unk_token": "<nothing>"}})", ec::bad_format, "unk_token"},
  {R"({"model": {"fuse_unk": 1}})", ec::bad_format, "fuse_unk"},
  {R"({"model": {"vocab": []}})", ec::bad_format, "vocab"},
  {R"({"model": {"vocab": {"a": -1}}})", ec::bad_format, "-1"},
  {R"({"model": {"vocab": {"a": 1e3}}})", ec::bad_format, "token id"},
  {R"({"model": {"vocab": {"a": 99999999999999999999}}})", ec::bad_format,
   "token id"},
  {R"({"model": {"vocab": {"a": 18446744073709551615}}})", ec::bad_format,
   "18446744073709551615"},
  {R"({"model": {"vocab": {"qqqq": 17}}})", ec::bad_format, "17"},
  {R"({"model": {"vocab": {"": 4096}}})", ec::bad_format, "empty"},
  {R"({"model": {"merges": 5}})", ec::bad_format, "merges"},
  {R"({"model": {"merges": [["a"]]}})", ec::bad_format, "merges[0]"},
  {R"({"model": {"merges": ["a b c"]}})", ec::bad_format, "merges[0]"},
  {R"({"model": {"merges": [["q", "qqqqq"]]}})", ec::bad_format,
   "not in the vocabulary"},
  {R"({"normalizer": {"type": "Precompiled"}})", ec::unsupported,
   "normalizer: Precompiled"},
  {R"({"normalizer": {"type": "Replace", "content": ""}})", ec::bad_format,
   "normalizer: Replace: pattern"},
  {R"({"normalizer": {"type": "Replace", "pattern": {"String": ""},
    "content": "a"}})",
   ec::bad_format, "has 0 bytes"},
  {R"({"normalizer": {"type": "Prepend"}})", ec::bad_format, "prepend"},
  {R"({"normalizer": {"type": "Strip", "strip_left": 1}})", ec::bad_format,
   "strip_left"},
  {R"({"normalizer": 7})", ec::bad_format, "normalizer"},
  {R"({"normalizer": {"type": "Sequence"}})", ec::bad_format, "normalizers"},
  {R"({"pre_tokenizer": {"type": "UnicodeScripts"}})", ec::unsupported,
   "UnicodeScripts"},
  {R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "ByteLevel"}, {"type": "Whitespace"}]}})",
   ec::unsupported, "after ByteLevel"},
  {R"({"pre_tokenizer": {"type": "Metaspace"}})", ec::bad_format,
   "replacement"},
  {R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "__"}})",
   ec::bad_format, "one character"},
  {R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "_",
    "prepend_scheme": "last"}})",
   ec::bad_format, "last"},
  {R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "_",
    "prepend_scheme": "first", "add_prefix_space": false}})",
   ec::bad_format, "add_prefix_space"},
  {R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}]}})",
   ec::bad_format, "at byte 2"},
  {R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "[a[b]]"},
     "behavior": "Isolated"}]}})",
   ec::unsupported, "a set within a set"},
  {R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Sideways"}]}})",
   ec::bad_format, "Sideways"},
  {R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": "a", "behavior": "Isolated"}]}})",
   ec::bad_format, "pattern"},
  {R"({"pre_tokenizer": {"type": "ByteLevel", "use_regex": "yes"}})",
   ec::bad_format, "use_regex"},
  {R"({"decoder": null})", ec::unsupported, "decoder"},
  {R"({"decoder": {"type": "WordPiece"}})", ec::unsupported,
   "decoder: WordPiece"},
  {R"({"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"},
    {"type": "ByteFallback"}]}})",
   ec::unsupported, "ByteFallback: after Fuse"},
  {R"({"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"},
    {"type": "Replace", "pattern": {"String": "ab"}, "content": "c"}]}})",
   ec::unsupported, "Replace: of more than one character"},
  {R"({"decoder": {"type": "Strip", "content": " ", "start": -1, "stop": 0}})",
   ec::bad_format, "start"},
  {R"({"decoder": {"type": "Strip", "content": "", "start": 1, "stop": 0}})",
   ec::bad_format, "content"},
  {R"({"post_processor": {"type": "OtherProcessing"}})", ec::unsupported,
   "OtherProcessing"},
  {R"({"post_processor": {"type": "BertProcessing", "cls": ["a", 1]}})",
   ec::bad_format, "sep"},
  {R"({"post_processor": {"type": "BertProcessing", "cls": ["a", 4096],
    "sep": ["b", 1]}})",
   ec::bad_format, "4096"},
  {R"({"post_processor": {"type": "TemplateProcessing", "single": [
    {"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
    "special_tokens": {"<s>": {"ids": [4096]}}}})",
   ec::bad_format, "4096"},
  {R"({"post_processor": {"type": "TemplateProcessing", "single": []}})",
   ec::unsupported, "0 times"},
  {R"({"added_tokens": {}})", ec::bad_format, "added_tokens"},
  {R"({"added_tokens": [{"id": 5000, "content": ""}]})", ec::bad_format,
   "added_tokens: [0]: content"},
  {R"({"added_tokens": [{"id": 3, "content": "<x>"}]})", ec::bad_format,
   "added_tokens: [0]: id 3"},
  {R"({"added_tokens": [{"id": 2000000000, "content": "<x>"}]})",
   ec::bad_format, "2000000000"},
};

/// The same of unigram.json.
const broken_case broken_unigrams[] = {
  {R"({"model": {"vocab": {}}})", ec::bad_format, "vocab"},
  {R"({"model": {"vocab": []}})", ec::bad_format, "vocab"},
  {R"({"model": {"vocab": [["a"]]}})", ec::bad_format, "vocab[0]"},
  {R"({"model": {"vocab": [["a", "b"]]}})", ec::bad_format, "vocab[0]"},
  {R"({"model": {"vocab": [["a", 0], ["a", 1]]}})", ec::bad_format,
   "both ids 0 and 1"},
  {R"({"model": {"vocab": [["", 0]]}})", ec::bad_format, "empty"},
  {R"({"model": {"unk_id": 3000}})", ec::bad_format, "unk_id"},
  {R"({"model": {"unk_id": -1}})", ec::bad_format, "unk_id"},
  {R"({"model": {"byte_fallback": 2}})", ec::bad_format, "byte_fallback"},
};

void check_broken(const broken_case& x, const std::string& base) {
  auto text = test::base_json(base);
  text.merge_patch(json::parse(x.patch));
  // A merge patch with null removes the key, which means the same.
  auto read = tokenizer::parse(text.dump());
  BOOST_REQUIRE_MESSAGE(!read.has_value(), x.patch);
  BOOST_TEST(to_string(read.error().code) == to_string(x.code), x.patch);
  BOOST_TEST(read.error().message.find(x.names) != std::string::npos,
             x.patch << " gave: " << read.error().message);
}

} // namespace

BOOST_AUTO_TEST_SUITE(broken_tokenizer_suite)

BOOST_AUTO_TEST_CASE(each_broken_part_is_named) {
  for (const auto& x : broken_cases)
    check_broken(x, "demo");
  for (const auto& x : broken_unigrams)
    check_broken(x, "unigram.json");
}

BOOST_AUTO_TEST_CASE(a_token_too_long_to_look_for_is_refused) {
  auto text = test::base_json("unigram.json");
  text["model"]["vocab"][0][0] = std::string(2000, 'a');
  auto read = tokenizer::parse(text.dump());
  BOOST_REQUIRE(!read.has_value());
  BOOST_TEST(read.error().message.find("2000 bytes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(more_components_than_anybody_needs_are_refused) {
  auto text = test::demo_tokenizer_json();
  auto inner = json{{"type", "Sequence"}, {"normalizers", json::array()}};
  for (int i = 0; i < 40; ++i)
    inner["normalizers"].push_back({{"type", "NFC"}});
  text["normalizer"] = {{"type", "Sequence"}, {"normalizers", {inner, inner}}};
  auto read = tokenizer::parse(text.dump());
  BOOST_REQUIRE(!read.has_value());
  BOOST_TEST(read.error().message.find("more than 64") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_text_that_explodes_ends_in_an_error) {
  auto slow = test::tokenizer_with(json::parse(R"({"pre_tokenizer": {
    "type": "Sequence", "pretokenizers": [{"type": "Split",
      "pattern": {"Regex": "(a+)+[bc]"}, "behavior": "Isolated"},
      {"type": "ByteLevel"}]}})"));
  auto found = slow.encode(std::string(50, 'a'));
  BOOST_REQUIRE(!found.has_value());
  BOOST_TEST((found.error().code == ec::invalid_argument));
  auto large =
    test::tokenizer_with(json{{"normalizer",
                               {{"type", "Replace"},
                                {"pattern", {{"String", "a"}}},
                                {"content", std::string(1000, 'b')}}}});
  found = large.encode(std::string(1 << 20, 'a'));
  BOOST_REQUIRE(!found.has_value());
  BOOST_TEST((found.error().code == ec::invalid_argument));
}

BOOST_AUTO_TEST_CASE(a_character_without_a_token_is_an_error_of_the_text) {
  for (auto* patch :
       {R"({"model": {"unk_id": null}})",
        R"({"model": {"unk_id": null, "byte_fallback": true}})"}) {
    auto tokens = test::tokenizer_with(json::parse(patch), "unigram.json");
    BOOST_TEST(tokens.encode("word").has_value());
    auto found = tokens.encode("\xF0\x9F\x8E\xAD");
    BOOST_REQUIRE(!found.has_value());
    BOOST_TEST((found.error().code == ec::invalid_argument));
  }
  auto tokens = test::tokenizer_with(
    json::parse(R"({"model": {"unk_token": null, "byte_fallback": false}})"),
    "fallback.json");
  auto found = tokens.encode("\xF0\x9F\x8E\xAD");
  BOOST_REQUIRE(!found.has_value());
  BOOST_TEST((found.error().code == ec::invalid_argument));
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_refused) {
  auto deep = std::string(1000, '[');
  for (const auto& text :
       {std::string{}, std::string{"{"}, std::string{"[]"}, std::string{"7"},
        std::string{"{\"model\": \"\xFF\"}"}, deep}) {
    auto read = tokenizer::parse(text);
    BOOST_REQUIRE(!read.has_value());
    BOOST_TEST((read.error().code == ec::bad_format));
  }
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_anywhere_is_refused) {
  auto text = test::demo_tokenizer_json().dump();
  for (size_t length = 0; length < text.size(); length += text.size() / 37)
    BOOST_TEST(!tokenizer::parse(text.substr(0, length)).has_value());
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_named) {
  auto read = tokenizer::load("models/demo/no_such_file.json");
  BOOST_REQUIRE(!read.has_value());
  BOOST_TEST((read.error().code == ec::not_found));
  BOOST_TEST(read.error().message.find("no_such_file.json") !=
             std::string::npos);
  BOOST_TEST(!tokenizer::load("models/demo").has_value());
}

BOOST_AUTO_TEST_CASE(a_byte_without_a_token_is_an_error_of_the_text) {
  auto text = test::demo_tokenizer_json();
  auto& vocab = text["model"]["vocab"];
  text["model"]["merges"] = json::array();
  vocab.erase("z");
  auto tokens = tokenizer::parse(text.dump());
  BOOST_REQUIRE(tokens.has_value());
  BOOST_TEST(tokens->encode("abc").has_value());
  auto found = tokens->encode("xyz");
  BOOST_REQUIRE(!found.has_value());
  BOOST_TEST(found.error().message.find("0x7A") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
