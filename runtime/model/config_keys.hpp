// Looks numbers and properties up in config.json under the names a family file
// gives them, with type and range checked. Faults are collected; a value that
// is at fault reads as 0, false or "".
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/config_key_names.hpp"
#include "runtime/model/model_family.hpp"
#include "runtime/model/strict_json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class config_keys {
public:
  /// All three outlive the object. `name` is the file in messages. Where the
  /// root has the family's nested object, paths are looked up there first.
  config_keys(const nlohmann::json& root, const model_family& family,
              const std::string& name);

  /// Whether the text model is a part of what config.json describes.
  bool is_nested() const {
    return nested_ != nullptr;
  }

  /// A whole number in [min, max]; missing without default is a fault. A list
  /// (one number per layer) counts as its value if all are equal.
  uint32_t whole(std::string_view key, uint32_t min, uint32_t max);

  /// The same, but nullopt when it is missing.
  std::optional<uint32_t> optional_whole(std::string_view key, uint32_t min,
                                         uint32_t max);

  /// A number in [min, max].
  double real(std::string_view key, double min, double max);

  /// The same, but nullopt when it is missing.
  std::optional<double> optional_real(std::string_view key, double min,
                                      double max);

  /// `fallback` when missing.
  bool boolean(std::string_view key, bool fallback);

  std::string text(std::string_view key);

  /// The same, but nullopt when it is missing.
  std::optional<std::string> optional_text(std::string_view key);

  /// A list of whole numbers in [0, max]; empty when missing.
  std::vector<uint32_t> whole_list(std::string_view key, uint32_t max);

  /// A list of strings; empty when missing.
  std::vector<std::string> text_list(std::string_view key);

  /// The value at `key`: the first path that is there and not null. Paths that
  /// are there with different values are a fault. nullptr when missing.
  const nlohmann::json* find(std::string_view key);

  /// The value at a path such as "rope_parameters.rope_theta"; null counts as
  /// absent.
  const nlohmann::json* at_path(std::string_view path) const;

  /// Adds a fault about `key` (shown as config.json calls it), or about any
  /// path of config.json.
  void refuse(ec code, std::string_view key, std::string_view what);

  bool good() const {
    return faults_.empty();
  }

  /// All faults as one error, with the code of the first.
  result<void> finish() const;

private:
  struct fault {
    ec code;
    std::string text;
  };

  /// The value of a key that is one value, or the family's default of it.
  std::optional<nlohmann::json> value_of(std::string_view key);
  std::string their_name(std::string_view key) const;
  void refuse_type(std::string_view key, std::string_view expected,
                   const nlohmann::json& found);

  const nlohmann::json& root_;
  const nlohmann::json* nested_ = nullptr;
  const model_family& family_;
  const std::string& name_;
  std::vector<fault> faults_;
};

} // namespace troupe
