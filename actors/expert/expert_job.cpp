#include "actors/expert/expert_job.hpp"

#include "actors/actor_directory.hpp"
#include "runtime/engine/hidden_rows.hpp"

#include <caf/make_message.hpp>

#include <algorithm>
#include <map>
#include <new>
#include <span>
#include <thread>

namespace troupe {

namespace {

uint64_t nanoseconds(duration x) {
  return static_cast<uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(x).count());
}

/// Replies leave in waves of about this many bytes, so that the network works
/// while the lanes do.
constexpr size_t wave_bytes = size_t{2} << 20;

/// A stretch of consecutive pairs and the experts they need.
struct wave {
  size_t first = 0;
  size_t count = 0;
  std::map<expert_id, expert_ptr> experts;
};

class batch_run {
public:
  explicit batch_run(const expert_job& job)
    : job_(job), services_(*job.services),
      reply_type_(static_cast<kernels::dtype>(job.header.reply_type)),
      vector_bytes_(services_.limits.hidden_size *
                    kernels::size_of(reply_type_)),
      pairs_(job.pairs.as<expert_pair>()), started_(steady::now()) {
    // nop
  }

  result<void> run() {
    for (size_t first = 0; first < pairs_.size();) {
      auto next = collect(first);
      if (!next)
        return tl::unexpected(std::move(next.error()));
      send_outputs(*next, compute(*next));
      first += next->count;
    }
    return {};
  }

private:
  /// Takes pairs from `first` on until their outputs fill a wave or the store
  /// can hold no further expert. A remote wave ends between two experts only.
  result<wave> collect(size_t first) {
    wave x{first, 0, {}};
    auto capacity = services_.store->capacity();
    for (auto i = first; i < pairs_.size(); ++i) {
      auto expert = pairs_[i].expert;
      if (!x.experts.contains(expert)) {
        auto full =
          services_.uplink != nullptr && x.count * vector_bytes_ >= wave_bytes;
        if (full || x.experts.size() == capacity)
          break;
        auto loaded =
          services_.store->acquire(layer_index{job_.header.layer}, expert);
        if (!loaded)
          return tl::unexpected(std::move(loaded.error()));
        x.experts.emplace(expert, std::move(*loaded));
      }
      ++x.count;
    }
    return x;
  }

  std::shared_ptr<hidden_rows> compute(const wave& x) {
    kernels::activation_view rows{
      job_.rows.data(), services_.limits.row_type, job_.header.rows,
      services_.limits.hidden_size, services_.limits.hidden_size};
    auto lookup = [&](expert_id id) { return x.experts.at(id).get(); };
    auto out = std::make_shared<hidden_rows>(
      x.count, services_.limits.hidden_size, reply_type_);
    run_expert_batch(rows, pairs_.subspan(x.first, x.count), lookup,
                     out->output(), *services_.lanes);
    // A drill: this machine is slow.
    if (services_.delay_per_pair > duration::zero())
      std::this_thread::sleep_for(services_.delay_per_pair * x.count);
    return out;
  }

  void send_outputs(const wave& x, std::shared_ptr<hidden_rows> outputs) {
    auto data =
      std::shared_ptr<const std::byte[]>(outputs, outputs->memory.data());
    auto per_piece = services_.uplink == nullptr
                       ? x.count
                       : std::max<size_t>(1, piece_bytes / vector_bytes_);
    shared_bytes all{std::move(data), x.count * vector_bytes_};
    for (size_t i = 0; i < x.count; i += per_piece) {
      auto count = std::min(per_piece, x.count - i);
      expert_reply reply;
      reply.batch = job_.header.batch;
      reply.node_incarnation = job_.header.node_incarnation;
      reply.layer = job_.header.layer;
      reply.first = static_cast<uint32_t>(x.first + i);
      reply.outputs = all.slice(i * vector_bytes_, count * vector_bytes_);
      reply.queue_ns = nanoseconds(started_ - job_.arrived);
      reply.compute_ns = nanoseconds(steady::now() - started_);
      send_reply(services_, job_.from, std::move(reply));
    }
  }

  const expert_job& job_;
  const expert_services& services_;
  kernels::dtype reply_type_;
  size_t vector_bytes_;
  std::span<const expert_pair> pairs_;
  time_point started_;
};

} // namespace

void expert_job::run() {
  auto fail_with = [&](const error& why) {
    send_reply(*services, from, make_refusal(header, why));
  };
  try {
    if (auto done = batch_run{*this}.run(); !done)
      fail_with(done.error());
  } catch (const std::bad_alloc&) {
    fail_with(
      {ec::out_of_memory, fmt::format("layer {}: no memory for {} pairs",
                                      header.layer, header.pairs)});
  } catch (const std::exception& x) {
    fail_with({ec::internal, x.what()});
  }
}

expert_reply make_refusal(const batch_header& header, const error& why) {
  expert_reply reply;
  reply.batch = header.batch;
  reply.node_incarnation = header.node_incarnation;
  reply.layer = header.layer;
  reply.failure = static_cast<uint8_t>(why.code);
  reply.message = why.message;
  return reply;
}

void send_reply(const expert_services& services,
                const caf::strong_actor_ptr& to, expert_reply x) {
  if (services.uplink == nullptr) {
    send_from_outside(to, std::move(x));
    return;
  }
  auto bytes = x.outputs.size();
  // A full uplink loses the reply: the head's deadline covers it.
  services.uplink->send({nullptr, to, caf::make_message(std::move(x)), bytes});
}

} // namespace troupe
