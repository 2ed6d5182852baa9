#include "runtime/model/safetensors_header.hpp"

#include "runtime/model/strict_json.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <vector>

namespace troupe {

namespace {

using nlohmann::json;

constexpr size_t rank_max = 8;
constexpr size_t name_bytes_max = 1024;
/// Offsets above this cannot belong to a file, and sums below it cannot wrap.
constexpr uint64_t offset_max = uint64_t{1} << 60;

/// A non-negative whole number below `offset_max`.
std::optional<uint64_t> whole_of(const json& x) {
  if (!x.is_number_unsigned() || x.get<uint64_t>() > offset_max)
    return std::nullopt;
  return x.get<uint64_t>();
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20;
  });
}

/// As in "F5_E2M2": a type that a later version of the format may have.
bool is_type_name(std::string_view x) {
  return !x.empty() && x.size() <= 32 &&
         std::all_of(x.begin(), x.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  (c >= '0' && c <= '9') || c == '_';
         });
}

/// Parses one entry; every message begins with the file and the tensor.
class entry_parser {
public:
  entry_parser(const std::string& file, const std::string& tensor)
    : file_(file), tensor_(tensor) {
    // nop
  }

  result<tensor_info> parse(const json& entry) const {
    if (tensor_.empty() || tensor_.size() > name_bytes_max ||
        has_control(tensor_))
      return refuse("expected a name of 1 to {} bytes without control "
                    "characters",
                    name_bytes_max);
    if (!entry.is_object())
      return refuse("expected an object, found {}", describe(entry));
    for (auto& [key, value] : entry.items())
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        return refuse("unknown key {}; expected dtype, shape and data_offsets",
                      describe(json(key)));
    tensor_info x;
    x.name = tensor_;
    if (auto done = read_dtype(entry, x); !done)
      return tl::unexpected(done.error());
    if (auto done = read_shape(entry, x); !done)
      return tl::unexpected(done.error());
    if (auto done = read_offsets(entry, x); !done)
      return tl::unexpected(done.error());
    return x;
  }

private:
  template <class... Ts>
  tl::unexpected<error> refuse(fmt::format_string<Ts...> text,
                               Ts&&... xs) const {
    return fail(ec::bad_format, "{}: tensor {}: {}", file_,
                describe(json(tensor_)),
                fmt::format(text, std::forward<Ts>(xs)...));
  }

  result<void> read_dtype(const json& entry, tensor_info& x) const {
    auto member = entry.find("dtype");
    if (member == entry.end() || !member->is_string())
      return refuse("dtype: expected a string, found {}",
                    member == entry.end() ? "nothing" : describe(*member));
    auto name = member->get<std::string>();
    if (auto type = kernels::dtype_from_name(name))
      x.dtype = *type;
    else if (is_type_name(name))
      x.foreign_type = name;
    else
      return refuse("dtype: {} is no name of an element type",
                    describe(*member));
    return {};
  }

  result<void> read_shape(const json& entry, tensor_info& x) const {
    auto member = entry.find("shape");
    if (member == entry.end() || !member->is_array())
      return refuse("shape: expected a list, found {}",
                    member == entry.end() ? "nothing" : describe(*member));
    if (member->size() > rank_max)
      return refuse("shape: expected at most {} dimensions, found {}", rank_max,
                    member->size());
    for (auto& size : *member) {
      auto value = whole_of(size);
      if (!value)
        return refuse("shape: expected whole numbers from 0 to 2^60, found {}",
                      describe(size));
      x.shape.push_back(*value);
    }
    // The elements of an unknown type may be of any size, even parts of bytes.
    uint64_t bytes = x.foreign_type.empty() ? kernels::size_of(x.dtype) : 1;
    // A zero anywhere makes the tensor empty, however large the other sizes.
    if (std::count(x.shape.begin(), x.shape.end(), uint64_t{0}) > 0)
      bytes = 0;
    for (auto size : x.shape) {
      if (bytes != 0 && size > offset_max / bytes)
        return refuse("shape: [{}] does not fit any file",
                      fmt::join(x.shape, ", "));
      bytes *= size;
    }
    x.bytes = bytes;
    return {};
  }

  result<void> read_offsets(const json& entry, tensor_info& x) const {
    auto member = entry.find("data_offsets");
    if (member == entry.end() || !member->is_array() || member->size() != 2)
      return refuse("data_offsets: expected two numbers, found {}",
                    member == entry.end() ? "nothing"
                    : member->is_array()  ? fmt::format("{}", member->size())
                                          : describe(*member));
    auto begin = whole_of((*member)[0]);
    auto end = whole_of((*member)[1]);
    if (!begin || !end)
      return refuse("data_offsets: expected whole numbers from 0 to 2^60, "
                    "found {} and {}",
                    describe((*member)[0]), describe((*member)[1]));
    if (*begin > *end)
      return refuse("data_offsets: begins at {} but ends before, at {}", *begin,
                    *end);
    if (!x.foreign_type.empty())
      x.bytes = *end - *begin;
    if (*end - *begin != x.bytes)
      return refuse("data_offsets: {} needs {} bytes, found {}",
                    describe_type(x), x.bytes, *end - *begin);
    x.offset = *begin;
    return {};
  }

  static std::string describe_type(const tensor_info& x) {
    return troupe::describe(x);
  }

  const std::string& file_;
  const std::string& tensor_;
};

result<void> read_metadata(const json& entry, const std::string& name,
                           safetensors_header& out) {
  if (!entry.is_object())
    return fail(ec::bad_format,
                "{}: __metadata__: expected an object, found "
                "{}",
                name, describe(entry));
  for (auto& [key, value] : entry.items()) {
    if (!value.is_string())
      return fail(ec::bad_format,
                  "{}: __metadata__: {}: expected a string, found {}", name,
                  describe(json(key)), describe(value));
    out.metadata.emplace(key, value.get<std::string>());
  }
  return {};
}

/// In order of their offsets the tensors must tile the data exactly.
result<void> check_coverage(safetensors_header& x, const std::string& name) {
  std::vector<const tensor_info*> order;
  for (auto& [key, tensor] : x.tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
  });
  for (auto* tensor : order) {
    if (tensor->offset < x.data_bytes)
      return fail(ec::bad_format,
                  "{}: tensors {} and {} overlap: the first ends at {}, the "
                  "second begins at {}",
                  name, x.last_tensor, tensor->name, x.data_bytes,
                  tensor->offset);
    if (tensor->offset > x.data_bytes)
      return fail(ec::bad_format,
                  "{}: hole of {} bytes before tensor {}: expected it at {}, "
                  "found {}",
                  name, tensor->offset - x.data_bytes, tensor->name,
                  x.data_bytes, tensor->offset);
    x.data_bytes = tensor->offset + tensor->bytes;
    x.last_tensor = tensor->name;
  }
  return {};
}

} // namespace

result<safetensors_header> parse_safetensors_header(std::string_view text,
                                                    uint64_t data_begin,
                                                    const std::string& name) {
  auto root = parse_json(text, name + ": header");
  if (!root)
    return tl::unexpected(std::move(root).error());
  if (!root->is_object())
    return fail(ec::bad_format, "{}: header: expected an object, found {}",
                name, describe(*root));
  safetensors_header x;
  for (auto& [key, entry] : root->items()) {
    if (key == "__metadata__") {
      if (auto done = read_metadata(entry, name, x); !done)
        return tl::unexpected(done.error());
      continue;
    }
    auto tensor = entry_parser{name, key}.parse(entry);
    if (!tensor)
      return tl::unexpected(std::move(tensor).error());
    x.tensors.emplace(key, std::move(*tensor));
  }
  if (auto done = check_coverage(x, name); !done)
    return tl::unexpected(done.error());
  for (auto& [key, tensor] : x.tensors)
    tensor.offset += data_begin;
  return x;
}

} // namespace troupe
