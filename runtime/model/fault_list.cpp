#include "runtime/model/fault_list.hpp"

#include "runtime/assert.hpp"

namespace troupe {

void fault_list::add(error x) {
  ++count_;
  if (shown_.size() < shown_max)
    shown_.push_back(std::move(x));
}

error fault_list::as_error(std::string_view title) const {
  TROUPE_ASSERT(count_ > 0);
  if (count_ == 1)
    return shown_.front();
  auto text = fmt::format("{}: {} problems:", title, count_);
  for (auto& x : shown_)
    text += "\n" + x.message;
  if (count_ > shown_.size())
    text += fmt::format("\nand {} more", count_ - shown_.size());
  return {shown_.front().code, std::move(text)};
}

} // namespace troupe
