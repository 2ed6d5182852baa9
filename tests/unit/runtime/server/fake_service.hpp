// A completion service whose every move the test makes.
#pragma once

#include "runtime/server/completion_service.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace troupe {

/// Longest wait for something that must happen.
constexpr std::chrono::seconds patience{30};

class fake_service : public completion_service {
public:
  /// A request the server started.
  struct started {
    completion_request request;
    std::shared_ptr<completion_sink> sink;
    uint64_t handle = 0;
  };

  fake_service() {
    limits_.model_name = "demo";
    limits_.vocab_size = 1000;
    limits_.context_tokens = 4096;
    limits_.defaults.max_tokens = 16;
  }

  const completion_limits& limits() const override {
    return limits_;
  }

  result<request_handle> start(completion_request request,
                               std::shared_ptr<completion_sink> sink) override {
    std::lock_guard guard{mutex_};
    if (refusal_)
      return tl::unexpected(*refusal_);
    auto handle = ++last_handle_;
    requests_[handle] = {std::move(request), std::move(sink), handle};
    changed_.notify_all();
    return request_handle{handle};
  }

  void cancel(request_handle handle) override {
    std::lock_guard guard{mutex_};
    cancelled_.insert(handle.value);
    changed_.notify_all();
  }

  std::optional<std::string> not_ready() const override {
    std::lock_guard guard{mutex_};
    return not_ready_;
  }

  std::string cluster_json() const override {
    return R"({"nodes":[]})";
  }

  // -- the test's side ---

  void refuse(error x) {
    std::lock_guard guard{mutex_};
    refusal_ = std::move(x);
  }

  void set_not_ready(std::optional<std::string> reason) {
    std::lock_guard guard{mutex_};
    not_ready_ = std::move(reason);
  }

  /// Waits for the `n`-th request (from 1) and takes it; null if none came.
  std::optional<started> request(uint64_t n) {
    std::unique_lock guard{mutex_};
    if (!changed_.wait_for(guard, patience,
                           [&] { return requests_.count(n) > 0; }))
      return std::nullopt;
    auto result = std::move(requests_[n]);
    requests_.erase(n);
    return result;
  }

  /// Waits until request `n` was cancelled.
  bool was_cancelled(uint64_t n) {
    std::unique_lock guard{mutex_};
    return changed_.wait_for(guard, patience,
                             [&] { return cancelled_.count(n) > 0; });
  }

  bool has_cancelled_anything() {
    std::lock_guard guard{mutex_};
    return !cancelled_.empty();
  }

private:
  completion_limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, started> requests_;
  std::set<uint64_t> cancelled_;
  std::optional<error> refusal_;
  std::optional<std::string> not_ready_;
  uint64_t last_handle_ = 0;
};

} // namespace troupe
