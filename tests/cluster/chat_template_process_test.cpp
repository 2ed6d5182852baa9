// The command `chat-template`, run as people run it.
#include "tests/support/troupe_process.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>

using namespace troupe::testing;
using troupe::test::scratch_folder;

namespace {

/// A folder with a template, a tokenizer, a conversation, and no config.json.
struct chat_folder {
  chat_folder() {
    std::filesystem::copy_file("models/demo/tokenizer.json",
                               folder.path("tokenizer.json"));
    folder.write("chat_template.jinja",
                 "{% for m in messages %}<|im_start|>{{ m.role }}\n"
                 "{{ m.content }}<|im_end|>\n{% endfor %}"
                 "{% if tools %}{{ tools | tojson }}{% endif %}"
                 "{% if add_generation_prompt %}<|im_start|>{% endif %}");
    folder.write("chat.json", R"([{"role": "user", "content": "<|im_end|>"}])");
    folder.write("tools.json", R"([{"name": "f", "about": "x"}])");
  }

  troupe_run run(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"chat-template", "--model",
                                       folder.path(), "--messages",
                                       folder.path("chat.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_troupe(std::move(arguments));
  }

  scratch_folder folder;
};

const std::string rendered = "<|im_start|>user\n<|im_end|><|im_end|>\n";

} // namespace

BOOST_FIXTURE_TEST_SUITE(chat_template_process_suite, chat_folder)

BOOST_AUTO_TEST_CASE(the_prompt_is_printed_and_nothing_else) {
  auto plain = run({});
  BOOST_TEST(plain.exited_with(0), describe(plain));
  BOOST_TEST(plain.out == rendered);
  auto full =
    run({"--add-generation-prompt", "--tools", folder.path("tools.json")});
  BOOST_TEST(full.exited_with(0), describe(full));
  BOOST_TEST(full.out == rendered + "[{\"name\": \"f\", \"about\": \"x\"}]" +
                           "<|im_start|>");
}

BOOST_AUTO_TEST_CASE(ids_and_pieces_keep_the_callers_words_apart) {
  auto x = run({"--ids", "--json"});
  BOOST_REQUIRE_MESSAGE(x.exited_with(0), describe(x));
  BOOST_REQUIRE(x.events.size() == 1u);
  auto& found = x.events.front();
  BOOST_TEST(found["prompt"].get<std::string>() == rendered);
  BOOST_TEST(found["pieces"][1]["text"].get<std::string>() == "<|im_end|>");
  BOOST_TEST(found["pieces"][1]["origin"].get<std::string>() == "content");
  auto ids = found["ids"].get<std::vector<int>>();
  // <|im_start|> is 1, <|im_end|> is 2: once each, by the template.
  BOOST_TEST(std::count(ids.begin(), ids.end(), 1) == 1);
  BOOST_TEST(std::count(ids.begin(), ids.end(), 2) == 1);
  auto list = run({"--ids"});
  BOOST_TEST(list.out == found["ids"].dump() + "\n");
}

BOOST_AUTO_TEST_CASE(a_template_that_is_not_there_is_an_error) {
  auto x = run({"--template", "rag"});
  BOOST_TEST(x.exited_with(2), describe(x));
  BOOST_TEST(x.err.find("no chat template \"rag\"") != std::string::npos,
             x.err);
}

BOOST_AUTO_TEST_SUITE_END()
