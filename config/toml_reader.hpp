// Strict reading of TOML: every key must be known, of the right type and in
// range. Faults are collected, so that one message names all of them, each as
// "file:line: key: expected ..., found ...". Nothing here throws.
//
// A schema reads into a struct whose members already hold the defaults:
//
//   auto file = toml_file::read("cluster.toml");
//   toml_section head = file->root().section("head");
//   head.read("lanes", x.lanes, within(0, 256));
//   return file->finish();        // also refuses the keys nobody read
#pragma once

#include "config/units.hpp"
#include "runtime/error.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// Files above this size are refused before they are read.
inline constexpr size_t toml_bytes_max = 1 << 20;

/// A closed interval of accepted numbers.
template <class T>
struct interval {
  T min;
  T max;
};

template <class T>
constexpr interval<T> within(T min, T max) {
  return {min, max};
}

/// One name of an enumeration as it is written in a file.
template <class Enum>
struct enum_name {
  std::string_view name;
  Enum value;
};

/// The name of `value` in its table; "unknown" if it has none.
template <class Enum, size_t N>
constexpr std::string_view name_of(Enum value,
                                   const enum_name<Enum> (&names)[N]) {
  for (auto& x : names)
    if (x.value == value)
      return x.name;
  return "unknown";
}

/// Whether a key may be left out.
enum class presence { optional, required };

/// A value whose type the file decides.
using toml_scalar = std::variant<bool, int64_t, double, std::string>;

namespace detail {
struct toml_state;
struct toml_node;
} // namespace detail

/// A table of the file. Copies refer to the same file, which must outlive them.
class toml_section {
public:
  // -- reading: a missing optional key leaves `out` as it is -----------------

  void read(std::string_view key, bool& out, presence = presence::optional);
  void read(std::string_view key, std::string& out,
            presence = presence::optional);
  void read(std::string_view key, uint32_t& out, interval<uint32_t> range,
            presence = presence::optional);
  void read(std::string_view key, uint64_t& out, interval<uint64_t> range,
            presence = presence::optional);
  void read(std::string_view key, double& out, interval<double> range,
            presence = presence::optional);
  /// Durations are strings with a unit: "250us", "20ms", "5s", "2min".
  void read(std::string_view key, std::chrono::microseconds& out,
            interval<std::chrono::microseconds> range,
            presence = presence::optional);
  void read(std::string_view key, byte_size& out, interval<byte_size> range,
            presence = presence::optional);

  template <class Enum, size_t N>
  void read(std::string_view key, Enum& out, const enum_name<Enum> (&names)[N],
            presence needed = presence::optional) {
    std::vector<std::string_view> known;
    for (auto& x : names)
      known.push_back(x.name);
    if (auto index = read_choice(key, known, needed))
      out = names[*index].value;
  }

  /// One string, or a list of strings.
  void read_strings(std::string_view key, std::vector<std::string>& out,
                    presence = presence::optional);

  /// A boolean, a number or a string; nullopt (and a fault) for anything else.
  std::optional<toml_scalar> read_scalar(std::string_view key);

  // -- structure -------------------------------------------------------------

  bool has(std::string_view key) const;

  /// The keys of this table, in alphabetical order.
  std::vector<std::string> keys() const;

  /// The table `key`; an empty one if the file has none.
  toml_section section(std::string_view key, presence = presence::optional);

  /// The tables of `[[key]]`, in file order; empty if the file has none.
  std::vector<toml_section> sections(std::string_view key);

  // -- faults ----------------------------------------------------------------

  /// Adds a fault at `key`, e.g. for rules between two keys.
  void refuse(std::string_view key, std::string what);

private:
  friend class toml_file;
  friend struct toml_lookup;
  toml_section(std::shared_ptr<detail::toml_state> state,
               std::shared_ptr<const detail::toml_node> node, std::string path);
  std::optional<size_t> read_choice(std::string_view key,
                                    std::span<const std::string_view> known,
                                    presence needed);

  std::shared_ptr<detail::toml_state> state_;
  std::shared_ptr<const detail::toml_node> node_;
  std::string path_; ///< "dispatch", "node[1]"; empty for the root.
};

/// A parsed file and the faults found so far.
class toml_file {
public:
  /// Fails with io, not_found, or bad_format (syntax, duplicate key, size).
  static result<toml_file> read(const std::string& path);

  /// Parses `text`; `name` stands for the file in messages.
  static result<toml_file> parse(std::string_view text, std::string name);

  toml_section root();

  /// The file's name as it stands in messages.
  const std::string& name() const;

  /// Fails with invalid_argument if there are faults or keys that no reader
  /// asked for; the message has one fault per line.
  result<void> finish();

private:
  explicit toml_file(std::shared_ptr<detail::toml_state> state);
  std::shared_ptr<detail::toml_state> state_;
};

} // namespace troupe
