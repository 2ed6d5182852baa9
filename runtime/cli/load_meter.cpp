#include "runtime/cli/load_meter.hpp"

#include "runtime/cli/command.hpp"

#include <cstdio>
#include <unistd.h>

namespace troupe::cli {

namespace {

constexpr auto period = std::chrono::milliseconds(100);

void write(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

} // namespace

load_display display_for(load_wish wish) {
  if (wish == load_wish::silent)
    return load_display::none;
  return ::isatty(STDERR_FILENO) != 0 ? load_display::terminal
                                      : load_display::lines;
}

load_meter::load_meter(model_ptr model, uint64_t bytes_total,
                       load_display display)
  : model_(std::move(model)), bytes_total_(bytes_total),
    bytes_before_(model_->files.bytes_read()), line_(display) {
  if (display != load_display::none)
    thread_ = std::thread{[this] { run(); }};
}

load_meter::~load_meter() {
  stop();
}

void load_meter::note(const std::string& text) {
  std::lock_guard guard{mutex_};
  write(line_.finish());
  cli::note(text);
}

void load_meter::stop() {
  {
    std::lock_guard guard{mutex_};
    end_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void load_meter::run() {
  const auto start = steady::now();
  std::unique_lock guard{mutex_};
  while (!ended_.wait_for(guard, period, [this] { return end_; })) {
    load_progress now{model_->files.bytes_read() - bytes_before_, bytes_total_};
    if (auto text = line_.step(steady::now() - start, now))
      write(*text);
  }
  write(line_.finish());
}

} // namespace troupe::cli
