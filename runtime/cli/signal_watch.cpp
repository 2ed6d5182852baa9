#include "runtime/cli/signal_watch.hpp"

#include <cerrno>
#include <csignal>
#include <optional>
#include <unistd.h>

namespace troupe::cli {

namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

} // namespace

void signal_watch::block() {
  auto set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN); // a limit on files is an error of the write
}

void signal_watch::unblock() {
  auto set = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

signal_watch::signal_watch(duration limit, std::function<void()> on_first)
  : limit_(limit), on_first_(std::move(on_first)),
    thread_([this] { watch(); }) {
  // nop
}

signal_watch::~signal_watch() {
  ending_ = true;
  thread_.join();
}

void signal_watch::wait(const std::function<bool()>& done) {
  std::unique_lock guard{mutex_};
  while (!asked_ && !done())
    changed_.wait_for(guard, std::chrono::milliseconds(50));
}

void signal_watch::notify() {
  changed_.notify_all();
}

void signal_watch::watch() {
  auto set = ending_signals();
  const timespec nap{0, 20'000'000};
  std::optional<time_point> deadline;
  while (!ending_) {
    auto number = sigtimedwait(&set, nullptr, &nap);
    if (number > 0 && deadline)
      _exit(128 + number); // asked twice
    if (number > 0) {
      deadline = steady::now() + limit_;
      asked_ = true;
      if (on_first_)
        on_first_();
      changed_.notify_all();
    }
    if (deadline && steady::now() >= *deadline)
      _exit(1);
  }
}

} // namespace troupe::cli
