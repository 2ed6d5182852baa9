// Chunk sender and assembler. A chunk is checked against the limits, then
// against its own fields, then against its predecessors.
#include "actors/transport/chunking.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace troupe {

// -- chunk_sender -------------------------------------------------------------

chunk_sender::chunk_sender(chunk_limits limits) : limits_(limits) {
  TROUPE_ASSERT(limits_.chunk_bytes > 0);
  // The receiver may hold back the credit of a quarter of the window.
  TROUPE_ASSERT(2 * limits_.chunk_bytes <= limits_.window_bytes);
  TROUPE_ASSERT(limits_.transfer_bytes <= limits_.assembly_bytes);
  TROUPE_ASSERT(limits_.assemblies > 0);
}

result<uint64_t> chunk_sender::push(shared_bytes payload) {
  if (payload.empty())
    return fail(ec::invalid_argument, "chunked transfer: empty payload");
  if (payload.size() > limits_.transfer_bytes)
    return fail(ec::invalid_argument,
                "chunked transfer: payload of {} bytes, the limit is {}",
                payload.size(), limits_.transfer_bytes);
  if (backlog_ + payload.size() > limits_.backlog_bytes)
    return fail(ec::overloaded,
                "chunked transfer: {} bytes wait for this peer and {} more "
                "would cross the limit of {}",
                backlog_, payload.size(), limits_.backlog_bytes);
  auto count = (payload.size() + limits_.chunk_bytes - 1) / limits_.chunk_bytes;
  TROUPE_ASSERT(count <= std::numeric_limits<uint32_t>::max());
  backlog_ += payload.size();
  waiting_.push_back(outgoing{++last_transfer_, std::move(payload), 0,
                              static_cast<uint32_t>(count)});
  return last_transfer_;
}

void chunk_sender::start_waiting() {
  while (!waiting_.empty() && started_.size() < limits_.assemblies &&
         started_bytes_ + waiting_.front().payload.size() <=
           limits_.assembly_bytes) {
    started_bytes_ += waiting_.front().payload.size();
    started_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

std::optional<chunk> chunk_sender::next() {
  start_waiting();
  if (started_.empty())
    return std::nullopt;
  auto& front = started_.front();
  auto offset = front.next_index * limits_.chunk_bytes;
  auto size = std::min(limits_.chunk_bytes, front.payload.size() - offset);
  if (in_flight_bytes() + size > limits_.window_bytes)
    return std::nullopt;
  chunk result{front.transfer, front.next_index, front.count,
               front.payload.size(), front.payload.slice(offset, size)};
  sent_ += size;
  backlog_ -= size;
  // Round robin: the others first, then the rest of this one.
  auto rest = std::move(front);
  started_.pop_front();
  if (++rest.next_index < rest.count)
    started_.push_back(std::move(rest));
  else
    started_bytes_ -= rest.payload.size();
  return result;
}

result<void> chunk_sender::add_credit(uint64_t taken_bytes) {
  if (taken_bytes > sent_)
    return fail(ec::bad_format,
                "chunked transfer: the peer took {} bytes, only {} were sent",
                taken_bytes, sent_);
  taken_ = std::max(taken_, taken_bytes);
  return {};
}

void chunk_sender::cancel(uint64_t transfer) {
  auto i =
    std::find_if(waiting_.begin(), waiting_.end(),
                 [&](const outgoing& x) { return x.transfer == transfer; });
  if (i == waiting_.end())
    return;
  backlog_ -= i->payload.size();
  waiting_.erase(i);
}

// -- chunk_assembler ----------------------------------------------------------

chunk_assembler::chunk_assembler(chunk_limits limits) : limits_(limits) {
  TROUPE_ASSERT(limits_.chunk_bytes > 0);
}

result<void> chunk_assembler::check_fields(const chunk& x) const {
  auto refuse = [&](std::string_view what) {
    return fail(ec::bad_format,
                "chunk {} of {} of transfer {} ({} of {} bytes): {}", x.index,
                x.count, x.transfer, x.bytes.size(), x.total, what);
  };
  if (x.transfer == 0)
    return refuse("transfers count from 1");
  if (x.total == 0 || x.total > limits_.transfer_bytes)
    return refuse(fmt::format("the payload must have 1 to {} bytes",
                              limits_.transfer_bytes));
  auto count = (x.total + limits_.chunk_bytes - 1) / limits_.chunk_bytes;
  if (x.count != count)
    return refuse(fmt::format("expected {} chunks", count));
  if (x.index >= x.count)
    return refuse("the index is beyond the last chunk");
  auto offset = uint64_t{x.index} * limits_.chunk_bytes;
  auto size = std::min<uint64_t>(limits_.chunk_bytes, x.total - offset);
  if (x.bytes.size() != size)
    return refuse(fmt::format("expected {} bytes in this chunk", size));
  return {};
}

result<void> chunk_assembler::open(const chunk& x) {
  if (x.index != 0)
    return fail(ec::bad_format,
                "chunk {} of transfer {} came before its first chunk", x.index,
                x.transfer);
  if (open_.size() >= limits_.assemblies ||
      x.total > limits_.assembly_bytes - open_bytes_)
    return fail(ec::overloaded,
                "transfer {} of {} bytes: {} transfers with {} bytes are open, "
                "the limits are {} and {}",
                x.transfer, x.total, open_.size(), open_bytes_,
                limits_.assemblies, limits_.assembly_bytes);
  assembly fresh;
  fresh.data = shared_bytes::allocate(x.total);
  if (fresh.data == nullptr)
    return fail(ec::out_of_memory, "transfer {}: no memory for {} bytes",
                x.transfer, x.total);
  fresh.total = x.total;
  fresh.count = x.count;
  open_.emplace(x.transfer, std::move(fresh));
  open_bytes_ += x.total;
  last_transfer_ = x.transfer;
  return {};
}

/// Returns whether `x` is the chunk `target` waits for; false for a duplicate.
result<bool> chunk_assembler::advance(assembly& target, const chunk& x) {
  if (x.total != target.total)
    return fail(ec::bad_format,
                "chunk {} of transfer {} says {} bytes, its first chunk said "
                "{}",
                x.index, x.transfer, x.total, target.total);
  if (x.index < target.next_index)
    return false;
  if (x.index != target.next_index)
    return fail(ec::bad_format, "chunk {} of transfer {} came, expected {}",
                x.index, x.transfer, target.next_index);
  ++target.next_index;
  taken_ += x.bytes.size();
  return true;
}

result<std::optional<assembled>> chunk_assembler::accept(const chunk& x,
                                                         time_point now) {
  if (auto fine = check_fields(x); !fine)
    return tl::unexpected(fine.error());
  if (x.transfer > last_transfer_)
    if (auto fine = open(x); !fine)
      return tl::unexpected(fine.error());
  bool expired = false;
  auto i = open_.find(x.transfer);
  if (i == open_.end()) {
    i = expired_.find(x.transfer);
    expired = true;
    if (i == expired_.end()) { // Complete already: a duplicate.
      ++dropped_;
      return std::nullopt;
    }
  }
  auto& target = i->second;
  auto wanted = advance(target, x);
  if (!wanted)
    return tl::unexpected(wanted.error());
  if (!*wanted || expired) {
    ++dropped_;
    if (expired && target.next_index == target.count)
      expired_.erase(i);
    return std::nullopt;
  }
  std::memcpy(target.data.get() + x.index * limits_.chunk_bytes, x.bytes.data(),
              x.bytes.size());
  target.last_chunk = now;
  if (target.next_index < target.count)
    return std::nullopt;
  assembled done{x.transfer, shared_bytes{std::move(target.data), x.total}};
  open_bytes_ -= x.total;
  open_.erase(i);
  return done;
}

uint64_t chunk_assembler::take_credit() {
  auto due = taken_ - credited_;
  if (due == 0 || due < limits_.window_bytes / 4)
    return 0;
  credited_ = taken_;
  return credited_;
}

size_t chunk_assembler::expire(time_point now) {
  size_t count = 0;
  for (auto i = open_.begin(); i != open_.end();) {
    if (now - i->second.last_chunk < limits_.assembly_deadline) {
      ++i;
      continue;
    }
    open_bytes_ -= i->second.total;
    i->second.data = nullptr;
    expired_.insert(open_.extract(i++));
    ++count;
  }
  while (expired_.size() > limits_.assemblies)
    expired_.erase(expired_.begin());
  return count;
}

} // namespace troupe
