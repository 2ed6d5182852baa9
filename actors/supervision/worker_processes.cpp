#include "actors/supervision/worker_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace troupe {

namespace {

/// How soon the end of a child is noticed here. MEMBERSHIP hears of it earlier,
/// from the connection; this only delays the restart.
constexpr auto watch_interval = std::chrono::milliseconds(10);

/// The file actions and attributes of posix_spawn, freed at the end of scope.
class spawn_setup {
public:
  explicit spawn_setup(int input) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    // The head blocks the signals it waits for; its children must not. A
    // terminal's Ctrl-C is the head's affair: children get a group of their
    // own.
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }

  ~spawn_setup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  spawn_setup(const spawn_setup&) = delete;
  spawn_setup& operator=(const spawn_setup&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::string describe(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return fmt::format("signal {}", WTERMSIG(wait_status));
  return fmt::format("exit {}", WEXITSTATUS(wait_status));
}

} // namespace

worker_processes::worker_processes(options x, std::vector<worker_spec> specs)
  : options_(x) {
  for (auto& spec : specs) {
    worker_status status;
    status.name = spec.name;
    child fresh{std::move(spec),
                restart_policy{x.restart},
                std::move(status),
                -1,
                {},
                false};
    children_.push_back(std::move(fresh));
  }
}

worker_processes::~worker_processes() {
  stop();
}

result<void> worker_processes::start() {
  {
    std::lock_guard guard{mutex_};
    for (auto& x : children_)
      if (auto started = spawn(x); !started)
        return started;
  }
  // The thread that starts children lives as long as they do: the kernel ends
  // a child when the thread that made it ends.
  watcher_ = std::thread{[this] { watch(); }};
  return {};
}

result<void> worker_processes::spawn(child& x) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return fail(ec::io, "worker {}: cannot make a pipe: {}", x.spec.name,
                std::strerror(errno));
  std::vector<char*> arguments;
  std::string program = "troupe";
  arguments.push_back(program.data());
  for (auto& text : x.spec.arguments)
    arguments.push_back(text.data());
  arguments.push_back(nullptr);
  spawn_setup setup{ends[0]};
  auto failed = posix_spawn(&x.status.pid, "/proc/self/exe", &setup.actions,
                            &setup.attributes, arguments.data(), environ);
  close(ends[0]);
  if (failed != 0) {
    x.status.pid = -1;
    close(ends[1]);
    return fail(ec::io, "worker {}: cannot start: {}", x.spec.name,
                std::strerror(failed));
  }
  x.input = ends[1];
  x.waiting = false;
  return {};
}

void worker_processes::watch() {
  while (true) {
    {
      std::lock_guard guard{mutex_};
      if (stopping_)
        return;
      auto now = steady::now();
      reap(now);
      restart_due(now);
    }
    std::this_thread::sleep_for(watch_interval);
  }
}

void worker_processes::reap(time_point now) {
  for (auto& x : children_) {
    int status = 0;
    if (x.status.pid > 0 && waitpid(x.status.pid, &status, WNOHANG) > 0)
      end_of(x, status, now);
  }
}

void worker_processes::end_of(child& x, int wait_status, time_point now) {
  x.status.pid = -1;
  x.status.last_end = describe(wait_status);
  if (x.input >= 0)
    close(std::exchange(x.input, -1));
  if (stopping_)
    return;
  auto decision = x.policy.ended(now, child_end::failure);
  x.waiting = decision.what == restart_decision::action::restart;
  x.status.given_up = !x.waiting;
  x.restart_at = now + decision.delay;
}

void worker_processes::restart_due(time_point now) {
  for (auto& x : children_) {
    if (!x.waiting || now < x.restart_at)
      continue;
    ++x.status.restarts;
    if (auto started = spawn(x); !started)
      x.restart_at = now + options_.restart.backoff.max;
  }
}

size_t worker_processes::signal(const std::string& name, int number) {
  std::lock_guard guard{mutex_};
  size_t count = 0;
  for (auto& x : children_)
    if (x.status.pid > 0 && (name == "*" || name == x.spec.name) &&
        kill(x.status.pid, number) == 0)
      ++count;
  return count;
}

std::vector<worker_status> worker_processes::status() const {
  std::lock_guard guard{mutex_};
  std::vector<worker_status> result;
  for (auto& x : children_)
    result.push_back(x.status);
  return result;
}

bool worker_processes::any_running() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](auto& x) { return x.status.pid > 0; });
}

bool worker_processes::end_children(time_point deadline, bool& killed) {
  std::lock_guard guard{mutex_};
  auto now = steady::now();
  reap(now);
  if (!any_running())
    return true;
  if (now >= deadline && !std::exchange(killed, true))
    for (auto& x : children_)
      if (x.status.pid > 0)
        kill(x.status.pid, SIGKILL);
  return false;
}

void worker_processes::stop() {
  {
    std::lock_guard guard{mutex_};
    if (std::exchange(stopping_, true))
      return;
    for (auto& x : children_)
      if (x.input >= 0)
        close(std::exchange(x.input, -1));
  }
  auto deadline = steady::now() + options_.shutdown;
  for (auto killed = false; !end_children(deadline, killed);)
    std::this_thread::sleep_for(watch_interval);
  if (watcher_.joinable())
    watcher_.join();
}

} // namespace troupe
