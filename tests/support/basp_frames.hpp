// Writes frames of CAF's BASP by hand, for tests that play a peer.
#pragma once

#include "actors/transport/basp_frame.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::testing {

using byte_vector = std::vector<std::byte>;

/// Appends values in CAF's binary format.
class frame_builder {
public:
  /// Big endian.
  template <class T>
  frame_builder& number(T x) {
    for (size_t i = sizeof(T); i-- > 0;)
      out_.push_back(static_cast<std::byte>(x >> (8 * i) & 0xFF));
    return *this;
  }

  frame_builder& raw(std::string_view x) {
    for (char c : x)
      out_.push_back(static_cast<std::byte>(c));
    return *this;
  }

  frame_builder& text(std::string_view x) {
    return length(x.size()).raw(x);
  }

  frame_builder& length(size_t x) {
    while (x >= 0x80) {
      number(static_cast<uint8_t>(x | 0x80));
      x >>= 7;
    }
    return number(static_cast<uint8_t>(x));
  }

  /// The id of process `process` on a host all test peers share.
  frame_builder& node(uint32_t process) {
    number(basp::atom_number("default")).number(process);
    return raw("a host of 20 bytes..");
  }

  byte_vector done() {
    return std::move(out_);
  }

private:
  byte_vector out_;
};

inline basp::node_key node_key_of(uint32_t process) {
  auto raw = frame_builder{}.node(process).done();
  basp::node_key result;
  std::copy(raw.begin(), raw.end(), result.begin());
  return result;
}

/// A frame before it is written.
struct frame {
  basp::header head;
  byte_vector payload;
};

inline basp::header header_of(basp::op op) {
  basp::header x;
  x.op = static_cast<uint8_t>(op);
  return x;
}

inline byte_vector encode(const basp::header& x) {
  return frame_builder{}
    .number(x.op)
    .number(x.padding1)
    .number(x.padding2)
    .number(x.flags)
    .number(x.payload_size)
    .number(x.data)
    .number(x.source_actor)
    .number(x.dest_actor)
    .done();
}

/// Writes header and payload; the header's size follows the payload.
inline byte_vector encode(frame x) {
  x.head.payload_size = static_cast<uint32_t>(x.payload.size());
  auto result = encode(x.head);
  result.insert(result.end(), x.payload.begin(), x.payload.end());
  return result;
}

inline frame client_handshake(uint32_t process, uint8_t flags = 0) {
  frame x{header_of(basp::op::client_handshake),
          frame_builder{}.node(process).done()};
  x.head.flags = flags;
  return x;
}

/// A message named `types` (e.g. "@<>+batch") with one byte of content.
inline frame direct_message(std::string_view types, uint64_t dest) {
  frame x{header_of(basp::op::direct_message), frame_builder{}
                                                 .length(0)
                                                 .number(uint16_t{0})
                                                 .text(types)
                                                 .number(uint8_t{42})
                                                 .done()};
  x.head.dest_actor = dest;
  x.head.source_actor = 3;
  return x;
}

} // namespace troupe::testing
