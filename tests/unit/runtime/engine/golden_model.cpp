// Reading of the golden files.
#include "golden_model.hpp"

#include "runtime/model/safetensors.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

namespace troupe::golden {

namespace {

template <class T>
std::vector<T> read(const safetensors_file& file, const std::string& name) {
  const auto* info = file.find(name);
  BOOST_TEST_REQUIRE(info != nullptr, name);
  std::vector<T> out(info->bytes / sizeof(T));
  BOOST_TEST_REQUIRE(
    file.read(*info, 0, std::as_writable_bytes(std::span{out})).has_value());
  return out;
}

} // namespace

reference load_reference(int prompt, const std::string& folder) {
  auto file = safetensors_file::open(folder + "/expected.safetensors");
  BOOST_TEST_REQUIRE(file.has_value());
  const auto prefix = fmt::format("prompt{}.", prompt);
  reference out;
  out.ids = read<token_id>(*file, prefix + "input_ids");
  out.logits = read<float>(*file, prefix + "logits");
  out.greedy_ids = read<token_id>(*file, prefix + "greedy_ids");
  out.greedy_margin = read<float>(*file, prefix + "greedy_margin");
  for (int i = 0; file->find(fmt::format("{}hidden.{}", prefix, i)); ++i)
    out.hidden.push_back(
      read<float>(*file, fmt::format("{}hidden.{}", prefix, i)));
  return out;
}

std::vector<std::string> model_folders() {
  std::vector<std::string> out;
  for (const auto& x :
       std::filesystem::directory_iterator{"tests/golden/models"})
    out.push_back(x.path().string());
  std::ranges::sort(out);
  return out;
}

local_model load(const std::string& folder, kernels::numeric_mode mode) {
  static std::map<std::pair<std::string, kernels::numeric_mode>, local_model>
    loaded;
  auto& out = loaded[{folder, mode}];
  if (out.backbone)
    return out;
  auto model = open_model(folder);
  BOOST_TEST_REQUIRE(model.has_value(),
                     (model ? std::string{} : model.error().message));
  kernels::lanes pool{{.count = 1}};
  auto x = load_local_model(**model, {kernels::best_isa(), mode}, pool);
  BOOST_TEST_REQUIRE(x.has_value(), (x ? std::string{} : x.error().message));
  out = std::move(*x);
  return out;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size())
    return std::numeric_limits<double>::infinity();
  double out = 0;
  for (size_t i = 0; i < a.size(); ++i)
    out = std::max(out, std::abs(double{a[i]} - double{b[i]}));
  return out;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

} // namespace troupe::golden
