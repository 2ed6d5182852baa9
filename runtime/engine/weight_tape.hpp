// The loaded weights of one part of a model, in the order in which they were
// asked for. Recorded while they are read and packed; what was recorded can be
// written as one image, and an image plays back the same weights without
// reading or packing anything: the code that loads is the same both times.
//
// An image of parts: {magic, bytes, parts, begin of each part} as u64, then the
// parts. A part is a run of pieces: {key, kind, rows, columns, bytes} as u64
// and then the bytes, all on 64-byte boundaries.
#pragma once

#include "kernels/matmul.hpp"
#include "runtime/engine/hidden_rows.hpp"
#include "runtime/error.hpp"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

/// The formats of weights that an image may hold.
inline constexpr std::array image_formats{kernels::weight_format::plain,
                                          kernels::weight_format::fp8_block,
                                          kernels::weight_format::mxfp4};

class weight_tape {
public:
  /// Records.
  weight_tape() = default;

  /// Plays back `part`, which must outlive what it gives.
  explicit weight_tape(std::span<const std::byte> part) : part_(part) {
    // nop
  }

  /// Whether it plays back.
  bool is_playing() const {
    return part_.has_value();
  }

  /// A packed weight: what `read()` gives, or the next one of the image, which
  /// must have been recorded under this key. It lives as long as the tape, or
  /// the image. Errors: those of `read`; bad_format: another image.
  template <class Read>
  result<kernels::packed_weight>
  packed(std::string_view key, kernels::compute_options options, Read read) {
    if (part_)
      return play_packed(key, options);
    return record(key, read());
  }

  /// The same for a vector.
  template <class Read>
  result<std::vector<float>> floats(std::string_view key, Read read) {
    if (part_)
      return play_floats(key);
    return record(key, read());
  }

  /// The same for rows to be looked up.
  template <class Read>
  result<kernels::weight_view> rows(std::string_view key, Read read) {
    if (part_)
      return play_rows(key);
    return record(key, read());
  }

  /// A stretch of an image: a header of its own, or borrowed weights.
  struct stretch {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };

  /// What was recorded: bytes to be written one after the other, each begun on
  /// a 64-byte boundary.
  std::span<const stretch> recorded() const {
    return recorded_;
  }

private:
  struct piece;

  result<kernels::packed_weight> record(std::string_view key,
                                        result<kernels::packed_weight> x);
  result<std::vector<float>> record(std::string_view key,
                                    result<std::vector<float>> x);
  result<kernels::weight_view> record(std::string_view key,
                                      result<hidden_rows> x);
  void record(const piece& head, stretch data);
  result<kernels::packed_weight> play_packed(std::string_view key,
                                             kernels::compute_options options);
  result<std::vector<float>> play_floats(std::string_view key);
  result<kernels::weight_view> play_rows(std::string_view key);
  /// The next piece and its bytes.
  result<std::pair<piece, std::span<const std::byte>>>
  play(std::string_view key, uint64_t kind);

  std::optional<std::span<const std::byte>> part_; ///< What is left of it.
  std::vector<stretch> recorded_;
};

/// All of an image of these parts, as bytes to be written one after the other,
/// each begun on a 64-byte boundary.
std::vector<weight_tape::stretch> image_of(std::span<const weight_tape> parts);

/// Bytes of stretches written so.
uint64_t image_bytes(std::span<const weight_tape::stretch> image);

/// Copies bytes [begin, begin + out.size()) of an image; zeros between
/// stretches and beyond the end.
void copy_image(std::span<const weight_tape::stretch> image, uint64_t begin,
                std::span<std::byte> out);

/// The bytes that the image beginning with `head` has; absent: it is none.
std::optional<uint64_t> image_bytes_of(std::span<const std::byte> head);

/// Tapes that play back the parts of an image. Errors: bad_format.
result<std::vector<weight_tape>> parts_of(std::span<const std::byte> image);

} // namespace troupe
