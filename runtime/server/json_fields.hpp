// Reads the fields of a JSON object from a client: absent and null fields have
// a default, and a wrong type or range is an answer of status 400 that names
// the field, what was expected and what was found.
#pragma once

#include "runtime/server/openai_types.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Both ends are allowed.
template <class T>
struct range {
  T least;
  T most;
};

/// Says what a value is, shortly: `"abc"`, `-3`, `a list of 4`.
std::string in_short(const nlohmann::json& x);

/// Returns the refusal of a request because of field `param`.
api_error bad_request(std::string param, std::string message);

/// Reads the fields of one object and keeps the first problem.
class field_reader {
public:
  using json = nlohmann::json;

  /// `object` must outlive the reader.
  explicit field_reader(const json& object);

  /// Returns the field, or null if it is absent or JSON's null.
  const json* find(const char* name) const;

  float number(const char* name, float fallback, range<float> allowed);

  /// Negative numbers are refused whatever the range says.
  uint64_t integer(const char* name, uint64_t fallback,
                   range<uint64_t> allowed);

  bool boolean(const char* name, bool fallback);

  /// Keeps "<param>: expected <expected>, found <found>".
  void refuse(std::string param, std::string_view expected, const json& found);

  /// Keeps `x`, unless there was a problem before.
  void refuse_with(api_error x);

  const std::optional<api_error>& problem() const {
    return problem_;
  }

  /// Returns an integer in the range, nothing for all other values.
  static std::optional<uint64_t> as_unsigned(const json& x,
                                             range<uint64_t> allowed);

private:
  const json& object_;
  std::optional<api_error> problem_;
};

} // namespace troupe
