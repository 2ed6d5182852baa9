#include "config/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace troupe {

namespace {

struct unit {
  std::string_view name;
  uint64_t factor;
};

// Largest first: printing takes the first that divides.
constexpr std::array<unit, 4> duration_units{
  {{"min", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}, {"us", 1}}};

constexpr std::array<unit, 5> byte_units{{{"TiB", uint64_t{1} << 40},
                                          {"GiB", uint64_t{1} << 30},
                                          {"MiB", uint64_t{1} << 20},
                                          {"KiB", uint64_t{1} << 10},
                                          {"B", 1}}};

constexpr double duration_max_us = 10.0 * 366 * 24 * 3600 * 1e6;
constexpr uint64_t bytes_max = uint64_t{1} << 62;

template <size_t N>
std::optional<uint64_t> factor_of(const std::array<unit, N>& units,
                                  std::string_view name) {
  for (auto& x : units)
    if (x.name == name)
      return x.factor;
  return std::nullopt;
}

template <size_t N>
std::string print(const std::array<unit, N>& units, uint64_t x) {
  for (auto& y : units)
    if (x != 0 && x % y.factor == 0)
      return fmt::format("{}{}", x / y.factor, y.name);
  return fmt::format("{}{}", x, units.back().name);
}

} // namespace

std::optional<std::chrono::microseconds> parse_duration(std::string_view text) {
  double number = 0;
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(),
                                        number, std::chars_format::fixed);
  if (problem != std::errc{})
    return std::nullopt;
  auto used = static_cast<size_t>(end - text.data());
  auto factor = factor_of(duration_units, text.substr(used));
  if (!factor || std::signbit(number))
    return std::nullopt;
  auto value = number * static_cast<double>(*factor);
  if (!(value <= duration_max_us))
    return std::nullopt;
  return std::chrono::microseconds{std::llround(value)};
}

std::optional<byte_size> parse_byte_size(std::string_view text) {
  uint64_t number = 0;
  auto [end, problem] =
    std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{})
    return std::nullopt;
  auto unit = text.substr(static_cast<size_t>(end - text.data()));
  auto factor = factor_of(byte_units, unit.empty() ? "B" : unit);
  if (!factor || number > bytes_max / *factor)
    return std::nullopt;
  return byte_size{number * *factor};
}

std::string to_string(std::chrono::microseconds x) {
  if (x.count() < 0)
    return fmt::format("{}us", x.count());
  return print(duration_units, static_cast<uint64_t>(x.count()));
}

std::string to_string(byte_size x) {
  return print(byte_units, x.bytes);
}

} // namespace troupe
