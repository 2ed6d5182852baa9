#include "actors/supervision/worker_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace troupe {

namespace {

/// How soon the end of a child is noticed here. MEMBERSHIP hears of it earlier,
/// from the connection; this only delays the restart.
constexpr auto watch_interval = std::chrono::milliseconds(10);

/// What a new process needs to know before it becomes the worker.
struct child_start {
  int input;    ///< Becomes its standard input.
  int output;   ///< Becomes its standard output.
  pid_t parent; ///< With which it ends.
  char** arguments;
};

/// The first steps of a new process, which shares its parent's memory until the
/// last one: system calls only. It is tied to its parent before it does
/// anything else, so that it is not left behind even when it is frozen at once.
/// `failure` gets the reason when it cannot become the worker.
[[noreturn]] void become_worker(const child_start& x, volatile int& failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != x.parent)
    _exit(1);
  // A terminal's Ctrl-C is the head's affair: children get a group of their
  // own.
  setpgid(0, 0);
  if (x.input == STDIN_FILENO)
    fcntl(STDIN_FILENO, F_SETFD, 0);
  else
    dup2(x.input, STDIN_FILENO);
  dup2(x.output, STDOUT_FILENO);
  // The head blocks the signals it waits for; its children must not.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve("/proc/self/exe", x.arguments, environ);
  failure = errno;
  _exit(1);
}

/// Returns the new process. Fails with io.
result<pid_t> start_child(const child_start& x) {
  volatile int failure = 0;
  auto pid = vfork(); // returns here when the child is the worker, or has ended
  if (pid == 0)
    become_worker(x, failure);
  if (pid < 0)
    failure = errno;
  else if (failure != 0)
    waitpid(pid, nullptr, 0);
  if (failure != 0)
    return fail(ec::io, "cannot start: {}", std::strerror(failure));
  return pid;
}

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
  auto output = open("/dev/null", O_WRONLY | O_CLOEXEC);
  auto started = start_child({ends[0], output, getpid(), arguments.data()});
  close(ends[0]);
  if (output >= 0)
    close(output);
  if (!started) {
    close(ends[1]);
    return wrap("worker " + x.spec.name, std::move(started.error()));
  }
  x.status.pid = *started;
  x.input = ends[1];
  x.waiting = false;
  return {};
}

void worker_processes::watch() {
  while (true) {
    {
      std::lock_guard guard{mutex_};
      auto now = steady::now();
      reap(now);
      // Children end with the thread that made them: it stays till the last.
      if (stopping_ && !any_running())
        return;
      if (!stopping_)
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
