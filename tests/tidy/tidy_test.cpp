// Each rule, on a tree that breaks it and on one that keeps it.
#include "tests/tidy/cpp_text.hpp"
#include "tests/tidy/rules.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace troupe::tidy;

namespace {

std::string function_of(std::size_t lines) {
  std::string text = "int f() {\n";
  for (std::size_t i = 2; i < lines; ++i)
    text += "  g();\n";
  return text + "}\n";
}

source_tree tree_of(const std::string& path, const std::string& text) {
  return source_tree{{{path, text}}};
}

/// A tree of one long file, with a list that knows it by the given length.
source_tree long_file(const std::string& known) {
  return source_tree{{{"kernels/a.cpp", std::string(501, '\n')},
                      {"tests/tidy/known_offenders.txt", "# list\n" + known}}};
}

source_tree with_family(const std::string& path, const std::string& code) {
  return source_tree{{{"config/models/abc_moe.toml",
                       "family = \"abc_moe\"\n"
                       "architectures = [\"AbcMoeForCausalLM\"]\n"},
                      {path, code}}};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_comment_or_string_is_no_code) {
  BOOST_TEST(blank("a // {\nb /* } */ c", keep::code) == "a     \nb         c");
  BOOST_TEST(blank("f(\"{\\\"\", '}');", keep::code) == "f(\"   \", ' ');");
  BOOST_TEST(blank("R\"(})\" 1'000 {", keep::code) == "R\"( )\" 1'000 {");
  BOOST_TEST(blank("\"//\" x", keep::code_and_strings) == "\"//\" x");
}

BOOST_AUTO_TEST_CASE(functions_are_found_in_namespaces_and_classes) {
  const auto found = find_functions("namespace a {\n"
                                    "struct b : c {\n"
                                    "  explicit b(int x) : x_{x}, y_{1} {\n"
                                    "    run();\n"
                                    "  }\n"
                                    "  int x_{3};\n"
                                    "};\n"
                                    "template <class T>\n"
                                    "T* b::f(std::vector<int> v = {}) {\n"
                                    "  if (v) {\n"
                                    "  }\n"
                                    "  return [](int) { return 1; };\n"
                                    "}\n"
                                    "const int table[] = {f(1), f(2)};\n"
                                    "} // namespace a\n");
  BOOST_REQUIRE_EQUAL(found.size(), 2u);
  BOOST_TEST(found[0].name == "b");
  BOOST_TEST(found[0].lines() == 3u);
  BOOST_TEST(found[1].name == "b::f");
  BOOST_TEST(found[1].lines() == 6u);
}

BOOST_AUTO_TEST_CASE(a_test_case_is_named_by_its_sentence) {
  const auto found = find_functions("BOOST_AUTO_TEST_SUITE(s)\n"
                                    "BOOST_AUTO_TEST_CASE(it_works) {\n"
                                    "}\n");
  BOOST_REQUIRE_EQUAL(found.size(), 1u);
  BOOST_TEST(found[0].name == "it_works");
}

BOOST_AUTO_TEST_CASE(a_long_function_is_found) {
  BOOST_TEST(size_ratchet(tree_of("kernels/a.cpp", function_of(70))).empty());
  BOOST_TEST(size_ratchet(tree_of("kernels/a.cpp", function_of(71))).size() ==
             1u);
}

BOOST_AUTO_TEST_CASE(a_long_file_must_be_known_by_its_exact_length) {
  BOOST_TEST(size_ratchet(long_file("")).size() == 1u);
  BOOST_TEST(size_ratchet(long_file("file kernels/a.cpp 500\n")).size() == 1u);
  BOOST_TEST(size_ratchet(long_file("file kernels/a.cpp 502\n")).size() == 1u);
  BOOST_TEST(size_ratchet(long_file("file kernels/a.cpp 501\n")).empty());
}

BOOST_AUTO_TEST_CASE(an_offender_that_is_gone_leaves_the_list) {
  const auto tree =
    tree_of("tests/tidy/known_offenders.txt", "file kernels/b.cpp 600\n");
  BOOST_TEST(size_ratchet(tree).size() == 1u);
}

BOOST_AUTO_TEST_CASE(caf_is_included_by_actors_alone) {
  const std::string code = "#include <caf/actor.hpp>\n";
  BOOST_TEST(include_rules(tree_of("runtime/engine/a.cpp", code)).size() == 1u);
  BOOST_TEST(include_rules(tree_of("actors/a.cpp", code)).empty());
  BOOST_TEST(
    include_rules(tree_of("actors/a.cpp", "#include <caf/all.hpp>")).size() ==
    1u);
}

BOOST_AUTO_TEST_CASE(onednn_stays_behind_the_kernels) {
  const std::string code = "#include <oneapi/dnnl/dnnl.hpp>\n";
  BOOST_TEST(include_rules(tree_of("kernels/norm.cpp", code)).size() == 1u);
  BOOST_TEST(include_rules(tree_of("kernels/matmul.cpp", code)).empty());
}

BOOST_AUTO_TEST_CASE(a_lower_folder_includes_no_higher_one) {
  const source_tree up{{{"kernels/a.cpp", "#include \"actors/b.hpp\"\n"},
                        {"actors/b.hpp", "// b\n"}}};
  const source_tree down{{{"kernels/a.hpp", "// a\n"},
                          {"actors/b.cpp", "#include \"kernels/a.hpp\"\n"}}};
  BOOST_TEST(include_rules(up).size() == 1u);
  BOOST_TEST(include_rules(down).empty());
}

BOOST_AUTO_TEST_CASE(an_included_file_exists) {
  BOOST_TEST(
    include_rules(tree_of("actors/a.cpp", "#include \"b.hpp\"\n")).size() ==
    1u);
}

BOOST_AUTO_TEST_CASE(no_family_is_named_in_the_product) {
  const std::string code = "if (family == \"abc_moe\") {";
  BOOST_TEST(family_names(with_family("runtime/a.cpp", code)).size() == 1u);
  BOOST_TEST(
    family_names(with_family("runtime/a.cpp", "x = \"AbcMoeForCausalLM\";"))
      .size() == 1u);
  BOOST_TEST(family_names(with_family("tests/unit/a.cpp", code)).empty());
  BOOST_TEST(
    family_names(with_family("runtime/a.cpp", "// as abc_moe does")).empty());
  BOOST_TEST(family_names(with_family("runtime/a.cpp", "abc_moe_2")).empty());
}

BOOST_AUTO_TEST_CASE(a_document_names_paths_that_exist) {
  const auto in_readme = [](const std::string& line) {
    return document_paths(source_tree{
      {{"README.md", line}, {"kernels/matmul.hpp", ""}, {"docs/a.md", ""}}});
  };
  BOOST_TEST(in_readme("see `kernels/softmax.hpp`").size() == 1u);
  BOOST_TEST(in_readme("see [it](docs/b.md)").size() == 1u);
  BOOST_TEST(in_readme("see `gone/file.cpp`").size() == 1u);
  BOOST_TEST(in_readme("see `kernels/matmul`, `kernels/`").empty());
  BOOST_TEST(in_readme("see [it](docs/a.md#part) and `a/b`").empty());
  BOOST_TEST(in_readme("```\n`kernels/softmax.hpp`\n```").empty());
}

BOOST_AUTO_TEST_CASE(a_header_is_guarded_and_opens_with_a_comment) {
  BOOST_TEST(file_openings(tree_of("kernels/a.hpp", "// a\nint b;\n")).size() ==
             1u);
  BOOST_TEST(file_openings(tree_of("kernels/a.cpp", "int b;\n")).size() == 1u);
  BOOST_TEST(
    file_openings(tree_of("kernels/a.hpp", "// a\n#pragma once\n")).empty());
  const std::string second_half = "#include \"kernels/a.hpp\"\n";
  BOOST_TEST(file_openings(tree_of("kernels/a.cpp", second_half)).empty());
  BOOST_TEST(file_openings(tree_of("kernels/b.cpp", second_half)).size() == 1u);
}

BOOST_AUTO_TEST_CASE(unfinished_work_and_machine_paths_are_found) {
  BOOST_TEST(banned_words(tree_of("kernels/a.cpp", "// TO"
                                                   "DO: x"))
               .size() == 1u);
  BOOST_TEST(banned_words(tree_of("docs/a.md", "see /ho"
                                               "me/me/x"))
               .size() == 1u);
  BOOST_TEST(banned_words(tree_of("docs/a.md", "the net/wo"
                                               "rk/x"))
               .empty());
}

BOOST_AUTO_TEST_CASE(unit_tests_do_not_wait) {
  const std::string code = "std::this_thread::sleep_"
                           "for(1s);";
  BOOST_TEST(banned_words(tree_of("tests/unit/a_test.cpp", code)).size() == 1u);
  BOOST_TEST(banned_words(tree_of("actors/a.cpp", code)).empty());
}

BOOST_AUTO_TEST_CASE(a_unit_test_mirrors_a_source) {
  const auto with_test = [](const std::string& path,
                            const std::string& code = "") {
    return test_mirror(source_tree{{{"kernels/norm.cpp", ""}, {path, code}}});
  };
  BOOST_TEST(with_test("tests/unit/kernels/rope_test.cpp").size() == 1u);
  BOOST_TEST(with_test("tests/unit/runtime/norm_test.cpp").size() == 1u);
  BOOST_TEST(with_test("tests/unit/kernels/all_test.cpp",
                       "#include \"kernels/norm.hpp\"\n")
               .empty());
  BOOST_TEST(with_test("tests/unit/kernels/norm_test.cpp").empty());
  BOOST_TEST(with_test("tests/unit/kernels/norm_wide_test.cpp").empty());
}
