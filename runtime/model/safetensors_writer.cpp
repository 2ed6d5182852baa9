#include "runtime/model/safetensors_writer.hpp"

#include "runtime/assert.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

namespace troupe {

namespace {

/// The tensors' bytes start on this boundary.
constexpr size_t data_alignment = 8;

uint64_t bytes_of(const tensor_source& x) {
  return std::accumulate(x.shape.begin(), x.shape.end(),
                         uint64_t{kernels::size_of(x.dtype)},
                         std::multiplies<>{});
}

/// The header length and the header, padded with spaces.
std::string header_of(std::span<const tensor_source> tensors) {
  auto header = nlohmann::ordered_json::object();
  uint64_t at = 0;
  for (const auto& x : tensors) {
    TROUPE_ASSERT(bytes_of(x) == x.bytes.size());
    TROUPE_ASSERT(!header.contains(x.name));
    const auto end = at + x.bytes.size();
    header[x.name] = {{"dtype", kernels::to_string(x.dtype)},
                      {"shape", x.shape},
                      {"data_offsets", {at, end}}};
    at = end;
  }
  auto text = header.dump();
  text.resize(
    (text.size() + data_alignment - 1) / data_alignment * data_alignment, ' ');
  std::string out;
  for (uint64_t i = 0, n = text.size(); i < 8; ++i, n >>= 8)
    out.push_back(static_cast<char>(n & 0xff));
  return out + text;
}

bool write_all(std::FILE* file, std::span<const tensor_source> tensors) {
  const auto header = header_of(tensors);
  if (std::fwrite(header.data(), 1, header.size(), file) != header.size())
    return false;
  for (const auto& x : tensors)
    if (std::fwrite(x.bytes.data(), 1, x.bytes.size(), file) != x.bytes.size())
      return false;
  return true;
}

} // namespace

result<void> write_safetensors(const std::string& path,
                               std::span<const tensor_source> tensors) {
  auto* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr)
    return fail(ec::io, "{}: cannot be written: {}", path,
                std::strerror(errno));
  const auto written = write_all(file, tensors);
  const auto closed = std::fclose(file) == 0;
  if (written && closed)
    return {};
  const auto why = errno;
  std::remove(path.c_str());
  return fail(ec::io, "{}: cannot be written: {}", path, std::strerror(why));
}

} // namespace troupe
