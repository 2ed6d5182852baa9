#include "actors/expert/expert_server.hpp"

#include "actors/expert/expert_job.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

expert_server::expert_server(std::shared_ptr<const expert_services> services)
  : services_(std::move(services)) {
  // nop
}

void expert_server::batch(const expert_batch& x,
                          const caf::strong_actor_ptr& from, time_point now) {
  auto& header = x.header;
  if (services_->uplink)
    services_->uplink->received(x.rows.size());
  if (auto ok = check_batch(x, services_->limits); !ok) {
    refuse(header, from, ok.error());
    return;
  }
  auto row_bytes = services_->limits.row_bytes();
  auto seen = static_cast<uint32_t>(x.rows.size() / row_bytes);
  if (seen == header.rows) {
    compute(header, x.pairs, x.rows, from, now);
    return;
  }
  auto memory = shared_bytes::allocate(header.rows * row_bytes);
  if (memory == nullptr) {
    refuse(header, from, {ec::out_of_memory, "no memory for the batch's rows"});
    return;
  }
  if (incomplete_.size() == incomplete_max) {
    auto& oldest = incomplete_.front();
    refuse(oldest.header, oldest.from,
           {ec::overloaded, "too many batches whose rows are incomplete"});
    incomplete_.pop_front();
  }
  std::memcpy(memory.get(), x.rows.data(), x.rows.size());
  incomplete_.push_back({header, x.pairs, std::move(memory), seen, from});
}

void expert_server::rows(const expert_rows_piece& x, time_point now) {
  if (services_->uplink)
    services_->uplink->received(x.rows.size());
  auto i = std::find_if(incomplete_.begin(), incomplete_.end(),
                        [&](auto& y) { return y.header.batch == x.batch; });
  if (i == incomplete_.end())
    return; // refused before
  auto ok = check_piece(x, i->header.rows, i->rows_seen, services_->limits);
  if (!ok) {
    refuse(i->header, i->from, ok.error());
    incomplete_.erase(i);
    return;
  }
  auto row_bytes = services_->limits.row_bytes();
  std::memcpy(i->rows.get() + i->rows_seen * row_bytes, x.rows.data(),
              x.rows.size());
  i->rows_seen += static_cast<uint32_t>(x.rows.size() / row_bytes);
  if (i->rows_seen < i->header.rows)
    return;
  auto whole = std::move(*i);
  incomplete_.erase(i);
  compute(whole.header, std::move(whole.pairs),
          {std::move(whole.rows), whole.header.rows * row_bytes}, whole.from,
          now);
}

void expert_server::compute(const batch_header& header, shared_bytes pairs,
                            shared_bytes rows,
                            const caf::strong_actor_ptr& from, time_point now) {
  auto job = std::make_shared<expert_job>(expert_job{
    services_, header, std::move(pairs), std::move(rows), from, now});
  if (!services_->lanes->post([job] { job->run(); }))
    refuse(header, from, {ec::overloaded, "the queue of the lanes is full"});
}

void expert_server::refuse(const batch_header& header,
                           const caf::strong_actor_ptr& to, const error& why) {
  send_reply(*services_, to, make_refusal(header, why));
}

} // namespace troupe
