#include "actors/peer_link.hpp"

#include <caf/mailbox_element.hpp>
#include <caf/make_message.hpp>
#include <caf/message_id.hpp>

#include <algorithm>
#include <vector>

namespace troupe {

peer_link::peer_link(options x) : options_(std::move(x)) {
  // nop
}

bool peer_link::send(parcel x) {
  std::lock_guard guard{mutex_};
  if (closed_)
    return false;
  auto fits = in_flight_bytes_ == 0 ||
              in_flight_bytes_ + x.payload_bytes <= options_.window_bytes;
  if (queue_.empty() && fits) {
    in_flight_bytes_ += x.payload_bytes;
    sent_bytes_ += x.payload_bytes;
    // Under the lock: parcels of one link keep their order.
    deliver(x);
    return true;
  }
  if (queued_bytes_ + x.payload_bytes > options_.queue_bytes_max)
    return false;
  queued_bytes_ += x.payload_bytes;
  queue_.push_back(std::move(x));
  return true;
}

void peer_link::credit(uint64_t bytes) {
  std::lock_guard guard{mutex_};
  in_flight_bytes_ -= static_cast<size_t>(
    std::min(bytes, static_cast<uint64_t>(in_flight_bytes_)));
  ++credits_;
  pump();
}

void peer_link::tick(time_point now) {
  std::lock_guard guard{mutex_};
  if (queue_.empty()) {
    waiting_since_.reset();
  } else if (!waiting_since_ || credits_ != credits_seen_) {
    credits_seen_ = credits_;
    waiting_since_ = now;
  } else if (now - *waiting_since_ >= options_.patience) {
    in_flight_bytes_ = 0;
    waiting_since_ = now;
    pump();
  }
}

/// Sends what has room. @pre The lock is held.
void peer_link::pump() {
  while (!queue_.empty()) {
    auto& next = queue_.front();
    if (in_flight_bytes_ != 0 &&
        in_flight_bytes_ + next.payload_bytes > options_.window_bytes)
      return;
    queued_bytes_ -= next.payload_bytes;
    in_flight_bytes_ += next.payload_bytes;
    sent_bytes_ += next.payload_bytes;
    deliver(next);
    queue_.pop_front();
  }
}

void peer_link::received(uint64_t bytes) {
  uint64_t due = 0;
  {
    std::lock_guard guard{mutex_};
    received_bytes_ += bytes;
    credit_due_bytes_ += bytes;
    if (closed_ || credit_due_bytes_ < options_.window_bytes / 4)
      return;
    std::swap(due, credit_due_bytes_);
  }
  link_credit x{options_.id, options_.incarnation, due};
  deliver({nullptr, options_.control, caf::make_message(x), 0});
}

void peer_link::close() {
  std::lock_guard guard{mutex_};
  closed_ = true;
  queue_.clear();
  queued_bytes_ = 0;
}

uint64_t peer_link::bytes_sent() const {
  std::lock_guard guard{mutex_};
  return sent_bytes_;
}

uint64_t peer_link::bytes_received() const {
  std::lock_guard guard{mutex_};
  return received_bytes_;
}

void peer_link::deliver(const parcel& x) {
  if (x.to)
    x.to->enqueue(x.from, caf::make_message_id(), x.content, nullptr);
}

} // namespace troupe
