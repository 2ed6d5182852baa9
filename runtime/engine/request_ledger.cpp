// Each record has a lock of its own, so that a slow sink delays its own
// sequence only. Order of locks: the ledger's, released, then a record's.
#include "runtime/engine/request_ledger.hpp"

#include <utility>

namespace troupe {

struct request_ledger::record {
  std::mutex mutex;
  ledger_entry entry;
  std::optional<error> why;
  std::shared_ptr<token_sink> sink;
  size_t delivered = 0;       // tokens the sink has taken
  bool end_delivered = false; // the sink knows that it is over

  /// Gives the sink what it has not seen. A sink that throws gets the same
  /// token again with the next delivery. @pre `mutex` is held.
  void deliver() {
    for (; delivered < entry.emitted.size(); ++delivered) {
      if (sink)
        sink->token(entry.id, static_cast<uint32_t>(delivered),
                    entry.emitted[delivered]);
    }
    if (!entry.finished || end_delivered)
      return;
    if (sink)
      sink->finished(entry.id, *entry.finished, why);
    end_delivered = true;
  }
};

std::string_view to_string(finish_reason x) {
  switch (x) {
  case finish_reason::stop:
    return "stop";
  case finish_reason::length:
    return "length";
  case finish_reason::cancelled:
    return "cancelled";
  case finish_reason::failed:
    return "error";
  }
  return "unknown";
}

request_ledger::request_ledger(size_t open_max) : open_max_(open_max) {
  // nop
}

result<sequence_id> request_ledger::open(generation_request request,
                                         std::shared_ptr<token_sink> sink) {
  if (request.prompt.empty())
    return fail(ec::invalid_argument, "request: the prompt has no token");
  auto x = std::make_shared<record>();
  x->entry.request = std::move(request);
  x->sink = std::move(sink);
  const std::lock_guard guard{mutex_};
  if (records_.size() >= open_max_)
    return fail(ec::overloaded,
                "request: {} requests are open, the most allowed; try again "
                "later",
                records_.size());
  const sequence_id id{++last_id_};
  x->entry.id = id;
  records_.emplace(id, std::move(x));
  return id;
}

result<bool> request_ledger::append(sequence_id id, uint32_t index,
                                    token_id token) {
  const auto x = find_record(id);
  if (!x)
    return fail(ec::not_found, "request {}: not in the ledger", id.value);
  const std::lock_guard guard{x->mutex};
  auto& emitted = x->entry.emitted;
  if (index < emitted.size()) {
    if (emitted[index] != token)
      return fail(ec::internal,
                  "request {}: generated token {} was {} and is now {}; a "
                  "repeated step must give the same token",
                  id.value, index, emitted[index], token);
    x->deliver();
    return false;
  }
  if (x->entry.finished)
    return fail(ec::cancelled, "request {}: has ended ({}), found token {}",
                id.value, to_string(*x->entry.finished), index);
  if (index > emitted.size())
    return fail(ec::internal,
                "request {}: expected generated token {}, found {}", id.value,
                emitted.size(), index);
  emitted.push_back(token);
  x->deliver();
  return true;
}

result<bool> request_ledger::finish(sequence_id id, finish_reason reason,
                                    std::optional<error> why) {
  const auto x = find_record(id);
  if (!x)
    return fail(ec::not_found, "request {}: not in the ledger", id.value);
  const std::lock_guard guard{x->mutex};
  const bool first = !x->entry.finished;
  if (first) {
    x->entry.finished = reason;
    x->why = std::move(why);
  }
  x->deliver();
  return first;
}

void request_ledger::close(sequence_id id) {
  std::shared_ptr<record> x;
  {
    const std::lock_guard guard{mutex_};
    const auto i = records_.find(id);
    if (i == records_.end())
      return;
    x = std::move(i->second);
    records_.erase(i);
  }
  const std::lock_guard guard{x->mutex};
  if (!x->entry.finished)
    x->entry.finished = finish_reason::cancelled;
  x->deliver();
}

std::optional<ledger_entry> request_ledger::find(sequence_id id) const {
  const auto x = find_record(id);
  if (!x)
    return std::nullopt;
  const std::lock_guard guard{x->mutex};
  return x->entry;
}

bool request_ledger::running(sequence_id id) const {
  const auto x = find_record(id);
  if (!x)
    return false;
  const std::lock_guard guard{x->mutex};
  return !x->entry.finished;
}

std::vector<ledger_entry> request_ledger::unfinished() const {
  std::vector<std::shared_ptr<record>> all;
  {
    const std::lock_guard guard{mutex_};
    for (const auto& [id, x] : records_)
      all.push_back(x);
  }
  std::vector<ledger_entry> out;
  for (const auto& x : all) {
    const std::lock_guard guard{x->mutex};
    if (!x->entry.finished)
      out.push_back(x->entry);
  }
  return out;
}

size_t request_ledger::size() const {
  const std::lock_guard guard{mutex_};
  return records_.size();
}

std::shared_ptr<request_ledger::record>
request_ledger::find_record(sequence_id id) const {
  const std::lock_guard guard{mutex_};
  const auto i = records_.find(id);
  return i == records_.end() ? nullptr : i->second;
}

} // namespace troupe
