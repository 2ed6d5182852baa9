// Encoding, decoding and comparing of hellos.
#include "actors/transport/hello.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace troupe {

namespace {

constexpr std::string_view magic = "TROUPE";
constexpr size_t max_program_version = 32;
constexpr size_t max_model_name = 256;
constexpr size_t max_numeric_mode = 16;
constexpr size_t max_node_name = 64;

// -- writing ------------------------------------------------------------------

void put_raw(std::vector<std::byte>& out, const void* data, size_t size) {
  auto begin = out.size();
  out.resize(begin + size);
  if (size > 0)
    std::memcpy(out.data() + begin, data, size);
}

template <class T>
void put(std::vector<std::byte>& out, T value) {
  std::array<uint8_t, sizeof(T)> bytes;
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[i] = static_cast<uint8_t>(value >> (8 * i) & 0xFF);
  put_raw(out, bytes.data(), bytes.size());
}

/// Writes u16 length and at most `limit` bytes of `text`.
void put_text(std::vector<std::byte>& out, std::string_view text,
              size_t limit) {
  text = text.substr(0, limit);
  put(out, static_cast<uint16_t>(text.size()));
  put_raw(out, text.data(), text.size());
}

// -- reading ------------------------------------------------------------------

class decoder {
public:
  explicit decoder(std::span<const std::byte> bytes) : rest_(bytes) {
    // nop
  }

  bool ok() const {
    return ok_;
  }
  size_t remaining() const {
    return rest_.size();
  }

  std::string_view raw(size_t size) {
    if (size > rest_.size())
      ok_ = false;
    if (!ok_)
      return {};
    auto* first = reinterpret_cast<const char*>(rest_.data());
    rest_ = rest_.subspan(size);
    return {first, size};
  }

  template <class T>
  void number(T& x) {
    x = 0;
    auto bytes = raw(sizeof(T));
    for (size_t i = 0; i < bytes.size(); ++i)
      x = static_cast<T>(x | static_cast<T>(static_cast<uint8_t>(bytes[i]))
                               << (8 * i));
  }

  template <size_t N>
  void array(std::array<uint8_t, N>& x) {
    auto bytes = raw(N);
    if (ok_)
      std::memcpy(x.data(), bytes.data(), N);
  }

  void text(std::string& x, size_t limit) {
    uint16_t size = 0;
    number(size);
    if (size > limit)
      ok_ = false;
    x = raw(ok_ ? size : 0);
  }

private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

// -- checks -------------------------------------------------------------------

/// Peers' texts go to terminals and logs: anything unusual becomes '?'.
std::string printable(std::string_view text) {
  std::string result{text};
  for (auto& c : result)
    if (c < 0x20 || c > 0x7E)
      c = '?';
  return result;
}

bool valid_node_name(std::string_view name) {
  auto valid = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= max_node_name &&
         std::all_of(name.begin(), name.end(), valid);
}

std::string short_digest(const std::array<uint8_t, 32>& digest) {
  std::string result;
  for (size_t i = 0; i < 6; ++i)
    result += fmt::format("{:02x}", digest[i]);
  return result;
}

tl::unexpected<error> version_mismatch(uint16_t theirs,
                                       std::string_view program) {
  return fail(ec::protocol_mismatch,
              "the peer speaks protocol {} (troupe {}), this program speaks "
              "protocol {}: run the same version of troupe on both",
              theirs, printable(program), protocol_version);
}

} // namespace

uint32_t native_endianness() {
  const uint32_t tag = 0x01020304;
  std::array<uint8_t, 4> bytes;
  std::memcpy(bytes.data(), &tag, sizeof(tag));
  return static_cast<uint32_t>(bytes[0]) |
         static_cast<uint32_t>(bytes[1]) << 8 |
         static_cast<uint32_t>(bytes[2]) << 16 |
         static_cast<uint32_t>(bytes[3]) << 24;
}

std::vector<std::byte> encode(const hello& x) {
  std::vector<std::byte> body;
  put(body, x.endianness);
  put_raw(body, x.model_digest.data(), x.model_digest.size());
  put_text(body, x.model_name, max_model_name);
  put(body, x.numeric_fingerprint);
  put_text(body, x.numeric_mode, max_numeric_mode);
  put_raw(body, x.incarnation.data(), x.incarnation.size());
  put_text(body, x.node_name, max_node_name);
  put(body, x.capacity.memory_bytes);
  put(body, x.capacity.lanes);
  std::vector<std::byte> result;
  put_raw(result, magic.data(), magic.size());
  put(result, x.protocol);
  auto program =
    std::string_view{x.program_version}.substr(0, max_program_version);
  put(result, static_cast<uint8_t>(program.size()));
  put_raw(result, program.data(), program.size());
  put(result, static_cast<uint32_t>(body.size()));
  put_raw(result, body.data(), body.size());
  return result;
}

result<hello> decode_hello(std::span<const std::byte> bytes) {
  decoder in{bytes};
  if (in.raw(magic.size()) != magic)
    return fail(ec::bad_format, "hello: the peer is not a troupe process");
  hello x;
  uint8_t program_size = 0;
  in.number(x.protocol);
  in.number(program_size);
  x.program_version = in.raw(program_size);
  uint32_t body_size = 0;
  in.number(body_size);
  if (!in.ok() || program_size > max_program_version)
    return fail(ec::bad_format,
                "hello: cut short or broken in its envelope "
                "({} bytes)",
                bytes.size());
  if (x.protocol != protocol_version)
    return version_mismatch(x.protocol, x.program_version);
  if (body_size != in.remaining())
    return fail(ec::bad_format,
                "hello: {} bytes follow the envelope, which "
                "announces {}",
                in.remaining(), body_size);
  in.number(x.endianness);
  in.array(x.model_digest);
  in.text(x.model_name, max_model_name);
  in.number(x.numeric_fingerprint);
  in.text(x.numeric_mode, max_numeric_mode);
  in.array(x.incarnation);
  in.text(x.node_name, max_node_name);
  in.number(x.capacity.memory_bytes);
  in.number(x.capacity.lanes);
  if (!in.ok() || in.remaining() != 0)
    return fail(ec::bad_format,
                "hello: the body does not have the layout of "
                "protocol {}",
                protocol_version);
  return x;
}

result<void> check_hello(const hello& mine, const hello& theirs) {
  if (theirs.protocol != mine.protocol)
    return version_mismatch(theirs.protocol, theirs.program_version);
  if (theirs.endianness != mine.endianness)
    return fail(ec::protocol_mismatch,
                "the peer's byte order differs (tag {:#010x}, here {:#010x}): "
                "troupe runs on little-endian machines only",
                theirs.endianness, mine.endianness);
  if (!valid_node_name(theirs.node_name))
    return fail(ec::bad_format,
                "node name '{}': expected 1 to {} characters of "
                "[A-Za-z0-9._-]; choose another name",
                printable(theirs.node_name), max_node_name);
  if (theirs.model_digest != mine.model_digest)
    return fail(ec::protocol_mismatch,
                "'{}' has the checkpoint {} ({}), here it is {} ({}): use the "
                "same model files on both",
                theirs.node_name, printable(theirs.model_name),
                short_digest(theirs.model_digest), printable(mine.model_name),
                short_digest(mine.model_digest));
  if (theirs.numeric_mode != mine.numeric_mode)
    return fail(ec::protocol_mismatch,
                "'{}' computes in {}, here it is {}: start both with the same "
                "--dtype",
                theirs.node_name, printable(theirs.numeric_mode),
                printable(mine.numeric_mode));
  if (theirs.numeric_fingerprint != mine.numeric_fingerprint)
    return fail(ec::protocol_mismatch,
                "'{}' has other numerics (fingerprint {:016x}, here {:016x}): "
                "its results would differ in bits; run the same build of "
                "troupe on both",
                theirs.node_name, theirs.numeric_fingerprint,
                mine.numeric_fingerprint);
  if (theirs.incarnation == mine.incarnation)
    return fail(ec::protocol_mismatch,
                "'{}' has this process's own incarnation: it is connected to "
                "itself",
                theirs.node_name);
  return {};
}

} // namespace troupe
