#include "tests/unit/runtime/model/fixture_models.hpp"

#include "runtime/model/checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <stdexcept>

namespace troupe::test {

namespace {

namespace fs = std::filesystem;

const std::string root = "tests/golden/models";

uint64_t element_bytes(const std::string& dtype) {
  if (dtype == "F32")
    return 4;
  if (dtype == "BF16" || dtype == "F16")
    return 2;
  return 1;
}

} // namespace

uint64_t fixture_tensor::bytes() const {
  uint64_t out = element_bytes(dtype);
  for (auto x : shape)
    out *= x;
  return out;
}

std::string fixture_folder(const std::string& name) {
  return root + "/" + name;
}

std::string fixture_config(const std::string& name) {
  return read_all(fixture_folder(name) + "/config.json");
}

std::vector<fixture_tensor> fixture_tensors(const std::string& name) {
  auto files = checkpoint::open(fixture_folder(name));
  if (!files)
    throw std::runtime_error(files.error().message);
  std::vector<fixture_tensor> out;
  for (auto& tensor : files->names()) {
    auto* info = files->find(tensor);
    out.push_back(
      {tensor, std::string{kernels::to_string(info->dtype)}, info->shape});
  }
  return out;
}

std::vector<std::string> bound_fixtures() {
  std::vector<std::string> out;
  for (auto& x : fs::directory_iterator{root})
    if (fs::exists(x.path() / "model.safetensors"))
      out.push_back(x.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

void write_model(const scratch_folder& folder, const std::string& config,
                 const std::vector<fixture_tensor>& tensors,
                 const fixture_bytes& bytes) {
  std::string header = "{";
  std::string data;
  for (auto& x : tensors) {
    auto begin = data.size();
    data.resize(begin + x.bytes());
    for (uint64_t i = 0; bytes && i < x.bytes(); ++i)
      data[begin + i] = static_cast<char>(bytes(x, i));
    header += fmt::format(
      "{}\"{}\":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
      header.size() > 1 ? "," : "", x.name, x.dtype, fmt::join(x.shape, ","),
      begin, data.size());
  }
  folder.write("config.json", config);
  folder.write("model.safetensors", safetensors_bytes(header + "}", data));
}

} // namespace troupe::test
