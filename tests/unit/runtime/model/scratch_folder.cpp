#include "tests/unit/runtime/model/scratch_folder.hpp"

#include "kernels/dtype.hpp"

#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace troupe::test {

namespace fs = std::filesystem;

scratch_folder::scratch_folder() {
  auto pattern = (fs::temp_directory_path() / "troupe_test_XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string scratch_folder::path(std::string_view name) const {
  return name.empty() ? path_.string() : (path_ / name).string();
}

std::string scratch_folder::write(std::string_view name,
                                  std::string_view bytes) const {
  auto result = path(name);
  // Some file systems flush a file that is truncated and rewritten.
  std::error_code ignored;
  fs::remove(result, ignored);
  std::ofstream out{result, std::ios::binary | std::ios::trunc};
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    throw std::runtime_error("cannot write " + result);
  return result;
}

void scratch_folder::copy_from(const std::string& folder) const {
  for (auto& entry : fs::directory_iterator{folder})
    if (entry.is_regular_file())
      fs::copy_file(entry.path(), path_ / entry.path().filename(),
                    fs::copy_options::overwrite_existing);
}

std::string read_all(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  auto at = text.find(from);
  if (at == std::string::npos)
    throw std::runtime_error(fmt::format("no {} in the text", from));
  return text.replace(at, from.size(), to);
}

std::string safetensors_bytes(std::string_view header, std::string_view data) {
  auto length = static_cast<uint64_t>(header.size());
  std::string result(sizeof(length), '\0');
  std::memcpy(result.data(), &length, sizeof(length));
  return result.append(header).append(data);
}

std::string one_tensor_file(std::string_view name, size_t rows, size_t cols) {
  std::string data;
  for (size_t i = 0; i < rows * cols; ++i) {
    auto x = kernels::to_bf16(static_cast<float>(i));
    data.append(reinterpret_cast<const char*>(&x), sizeof(x));
  }
  auto header = fmt::format(
    R"({{"{}":{{"dtype":"BF16","shape":[{},{}],"data_offsets":[0,{}]}}}})",
    name, rows, cols, data.size());
  return safetensors_bytes(header, data);
}

} // namespace troupe::test
