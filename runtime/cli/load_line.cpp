#include "runtime/cli/load_line.hpp"

#include "runtime/cli/size_text.hpp"

#include <fmt/format.h>

namespace troupe::cli {

namespace {

constexpr size_t bar_width = 20;

std::string bar(uint32_t percent) {
  auto full = bar_width * percent / 100;
  return fmt::format("[{}{}] ", std::string(full, '#'),
                     std::string(bar_width - full, ' '));
}

} // namespace

std::string load_text(duration elapsed, const load_progress& x) {
  auto seconds = std::chrono::duration<double>(elapsed).count();
  auto rate = seconds > 0 ? static_cast<double>(x.bytes_done) / seconds : 0.0;
  auto rate_text = bytes_text(static_cast<uint64_t>(rate)) + "/s";
  if (x.bytes_total == 0)
    return fmt::format("loading weights: {}, {}", bytes_text(x.bytes_done),
                       rate_text);
  return fmt::format("loading weights: {} of {}, {} %, {}",
                     bytes_text(x.bytes_done), bytes_text(x.bytes_total),
                     x.percent(), rate_text);
}

std::optional<std::string> load_line::step(duration elapsed,
                                           const load_progress& x) {
  // Packed weights that are mapped from a cache are not read here.
  if (x.bytes_done == 0)
    return std::nullopt;
  if (display_ == load_display::lines && elapsed >= next_line_) {
    next_line_ = elapsed + between_lines;
    return "troupe: " + load_text(elapsed, x) + "\n";
  }
  if (display_ != load_display::terminal || elapsed < quiet_time)
    return std::nullopt;
  auto text =
    (x.bytes_total == 0 ? "" : bar(x.percent())) + load_text(elapsed, x);
  // A shorter text leaves the end of the one before.
  auto width = text.size();
  if (width < shown_)
    text.append(shown_ - width, ' ');
  shown_ = width;
  return "\r" + text;
}

std::string load_line::finish() {
  if (shown_ == 0)
    return {};
  auto out = "\r" + std::string(shown_, ' ') + "\r";
  shown_ = 0;
  return out;
}

} // namespace troupe::cli
