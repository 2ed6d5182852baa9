// The header of a safetensors file as pure data: text in, checked tensors out.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/tensor_info.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace troupe {

struct safetensors_header {
  std::map<std::string, tensor_info, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> metadata;
  uint64_t data_bytes = 0; ///< Where the last tensor ends, from the data on.
  std::string last_tensor; ///< Which one that is; empty if there is none.
};

/// Parses `text` (the JSON after the 8-byte length). Offsets of the tensors are
/// from `data_begin` on. Fails with bad_format: any key, type or number that
/// the format does not allow, shape x dtype unequal to the range, overlap,
/// hole. A type that is not known is accepted (see `tensor_info`), and its
/// range is believed. `name` stands for the file in messages.
result<safetensors_header> parse_safetensors_header(std::string_view text,
                                                    uint64_t data_begin,
                                                    const std::string& name);

} // namespace troupe
