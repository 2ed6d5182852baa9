// See tokenizer_samples.hpp.
#include "tests/unit/runtime/model/tokenizer_samples.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>

namespace troupe::test {

using nlohmann::json;

const json& demo_tokenizer_json() {
  static const json instance = [] {
    std::ifstream file{"models/demo/tokenizer.json"};
    return json::parse(file);
  }();
  return instance;
}

json golden_json(const std::string& name) {
  std::ifstream file{"tests/golden/tokenizers/" + name};
  return json::parse(file);
}

const json& base_json(const std::string& base) {
  static std::map<std::string, json> known;
  if (base == "demo")
    return demo_tokenizer_json();
  auto i = known.find(base);
  return i != known.end()
           ? i->second
           : known.emplace(base, golden_json(base)).first->second;
}

tokenizer tokenizer_with(const json& patch, const std::string& base) {
  auto text = base_json(base);
  text.merge_patch(patch);
  auto out = tokenizer::parse(text.dump());
  BOOST_REQUIRE_MESSAGE(out.has_value(), patch << ": " << out.error().message);
  return *out;
}

} // namespace troupe::test
