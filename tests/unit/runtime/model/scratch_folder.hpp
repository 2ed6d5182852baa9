// A folder that lives as long as a test, and files written into it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::test {

class scratch_folder {
public:
  scratch_folder();
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  /// "FOLDER" or "FOLDER/name".
  std::string path(std::string_view name = {}) const;

  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view bytes) const;

  /// Copies all files of `folder` into this one.
  void copy_from(const std::string& folder) const;

private:
  std::filesystem::path path_;
};

/// The bytes of a file. Throws if it cannot be read.
std::string read_all(const std::string& path);

/// `text` with its first `from` replaced by `to`. Throws if there is none: a
/// test that changes nothing tests nothing.
std::string with(std::string text, std::string_view from, std::string_view to);

/// An 8-byte length, the header, the data.
std::string safetensors_bytes(std::string_view header, std::string_view data);

/// A safetensors file whose first tensor is `name`, BF16 [rows, cols], of which
/// element i is i.
std::string one_tensor_file(std::string_view name, size_t rows, size_t cols);

} // namespace troupe::test
