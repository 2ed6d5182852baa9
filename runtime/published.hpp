// A value that one writer replaces and many readers look at: readers get an
// immutable snapshot and never see half an update.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace troupe {

/// Holds the current snapshot of a `T`. Reading copies a pointer; updating
/// copies the value, so keep `T` small or rarely changed.
template <class T>
class published {
public:
  explicit published(T initial = {})
    : current_(std::make_shared<const T>(std::move(initial))) {
    // nop
  }

  /// Returns the latest snapshot; never null.
  std::shared_ptr<const T> read() const {
    std::lock_guard guard{mutex_};
    return current_;
  }

  /// Replaces the snapshot by a copy that `change(T&)` has edited. Updates are
  /// serialised, so none is lost.
  template <class Change>
  void update(Change&& change) {
    std::lock_guard guard{mutex_};
    auto next = std::make_shared<T>(*current_);
    std::forward<Change>(change)(*next);
    current_ = std::move(next);
  }

private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> current_;
};

} // namespace troupe
