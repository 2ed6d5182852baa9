// See tokenizer_samples.hpp.
#include "tests/unit/runtime/model/tokenizer_samples.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>

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

tokenizer tokenizer_with(const json& patch) {
  auto text = demo_tokenizer_json();
  text.merge_patch(patch);
  auto out = tokenizer::parse(text.dump());
  BOOST_REQUIRE_MESSAGE(out.has_value(), patch << ": " << out.error().message);
  return *out;
}

} // namespace troupe::test
