// See stop_matcher.hpp.
#include "runtime/engine/stop_matcher.hpp"

#include "runtime/model/utf8.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// Length in bytes of the longest end of `text` with which `stop` begins, all
/// of `stop` excluded.
size_t begun_length(std::string_view text, std::string_view stop) {
  for (auto n = std::min(text.size(), stop.size() - 1); n > 0; --n)
    if (text.substr(text.size() - n) == stop.substr(0, n))
      return n;
  return 0;
}

} // namespace

result<stop_matcher> stop_matcher::make(std::vector<std::string> stop_strings,
                                        std::vector<token_id> stop_ids) {
  if (stop_strings.size() > stop_strings_max)
    return fail(ec::invalid_argument,
                "stop: expected at most {} strings, found {}", stop_strings_max,
                stop_strings.size());
  for (const auto& x : stop_strings) {
    if (x.empty() || x.size() > stop_string_bytes_max)
      return fail(ec::invalid_argument,
                  "stop: expected strings of 1 to {} bytes, found one of {}",
                  stop_string_bytes_max, x.size());
    if (valid_utf8_length(x) != x.size())
      return fail(ec::invalid_argument, "stop: a string is not UTF-8");
  }
  if (stop_ids.size() > stop_ids_max)
    return fail(ec::invalid_argument, "stop ids: expected at most {}, found {}",
                stop_ids_max, stop_ids.size());
  return stop_matcher{std::move(stop_strings), std::move(stop_ids)};
}

stop_matcher::stop_matcher(std::vector<std::string> stop_strings,
                           std::vector<token_id> stop_ids)
  : strings_(std::move(stop_strings)), ids_(std::move(stop_ids)) {
  std::sort(ids_.begin(), ids_.end());
}

bool stop_matcher::is_stop_id(token_id id) const {
  return std::binary_search(ids_.begin(), ids_.end(), id);
}

stop_matcher::output stop_matcher::push(std::string_view piece) {
  if (stopped_)
    return {{}, true};
  held_ += piece;
  auto end = std::string::npos; // of the match that is complete first
  size_t length = 0;
  for (const auto& stop : strings_) {
    auto at = held_.find(stop);
    if (at == std::string::npos)
      continue;
    auto stop_end = at + stop.size();
    if (stop_end < end || (stop_end == end && stop.size() > length)) {
      end = stop_end;
      length = stop.size();
    }
  }
  if (end != std::string::npos) {
    stopped_ = true;
    held_.resize(end - length);
    return {std::exchange(held_, {}), true};
  }
  size_t keep = 0;
  for (const auto& stop : strings_)
    keep = std::max(keep, begun_length(held_, stop));
  auto shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, shown.size());
  return {std::move(shown), false};
}

std::string stop_matcher::flush() {
  return std::exchange(held_, {});
}

} // namespace troupe
