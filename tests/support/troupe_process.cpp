#include "tests/support/troupe_process.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace troupe::testing {

namespace {

using clock = std::chrono::steady_clock;

constexpr auto poll_interval = wait_limit(5);
constexpr auto mark_name = "TROUPE_TEST_PROCESS";

std::runtime_error failure(const char* what) {
  return std::runtime_error(std::string{what} + ": " + std::strerror(errno));
}

wait_limit rest_of(clock::time_point deadline) {
  auto rest = std::chrono::ceil<wait_limit>(deadline - clock::now());
  return std::max(rest, wait_limit(0));
}

/// True if the descriptor was readable within the limit.
bool readable(int descriptor, wait_limit limit) {
  pollfd x{descriptor, POLLIN, 0};
  return poll(&x, 1, static_cast<int>(limit.count())) > 0;
}

std::string read_all(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The contents of a file in memory, whatever the writer's position is.
std::string contents(int descriptor) {
  std::string text;
  char block[1 << 16];
  while (true) {
    auto got =
      pread(descriptor, block, sizeof block, static_cast<off_t>(text.size()));
    if (got <= 0)
      return text;
    text.append(block, static_cast<size_t>(got));
  }
}

std::string shell_word(const std::string& word) {
  auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::strchr("-_./=,:@+%", c) != nullptr;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain))
    return word;
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return text + "'";
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (auto& word : words)
    result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// The cache of all programs that a test program starts: not the user's, and
/// empty at first.
class cache_home {
public:
  cache_home() {
    auto pattern =
      (std::filesystem::temp_directory_path() / "troupe_test_cache_XXXXXX")
        .string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error("mkdtemp failed");
    path_ = std::move(pattern);
  }

  ~cache_home() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string variable() const {
    return std::string{variable_name} + path_;
  }

  static constexpr const char* variable_name = "XDG_CACHE_HOME=";

private:
  std::string path_;
};

std::vector<std::string> marked_environment(const std::string& mark) {
  static const cache_home cache;
  std::vector<std::string> result{mark, cache.variable()};
  const auto is_set = [](const char* x, const char* name) {
    return std::strncmp(x, name, std::strlen(name)) == 0;
  };
  for (auto x = environ; *x != nullptr; ++x)
    if (!is_set(*x, mark_name) && !is_set(*x, cache_home::variable_name))
      result.emplace_back(*x);
  return result;
}

/// The zero-terminated words of a file of /proc.
std::vector<std::string> proc_words(pid_t pid, const char* file) {
  std::istringstream in{read_all("/proc/" + std::to_string(pid) + "/" + file)};
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');)
    words.push_back(word);
  return words;
}

process_end end_of(const siginfo_t& x) {
  if (x.si_code == CLD_EXITED)
    return {x.si_status, std::nullopt};
  return {std::nullopt, x.si_status};
}

} // namespace

wait_limit patient(wait_limit x) {
  return TROUPE_TEST_PATIENCE * x;
}

std::string to_string(const process_end& x) {
  return x.code ? "exit " + std::to_string(*x.code)
                : "signal " + std::to_string(x.signal.value_or(0));
}

troupe_process::troupe_process(std::vector<std::string> arguments, int output) {
  static std::atomic<unsigned> count{0};
  mark_ = std::string{mark_name} + "=" + std::to_string(getpid()) + "." +
          std::to_string(++count);
  arguments.insert(arguments.begin(), TROUPE_TEST_PROGRAM);
  for (auto& word : arguments)
    command_line_ += (command_line_.empty() ? "" : " ") + shell_word(word);
  auto environment = marked_environment(mark_);
  auto words = pointers(arguments);
  auto variables = pointers(environment);
  out_ = memfd_create("stdout", MFD_CLOEXEC);
  err_ = memfd_create("stderr", MFD_CLOEXEC);
  auto input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (out_ < 0 || err_ < 0 || input < 0)
    throw failure("cannot make files for the output");
  auto parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    // A test that is killed takes its processes along.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(127);
    dup2(input, STDIN_FILENO);
    dup2(output >= 0 ? output : out_, STDOUT_FILENO);
    dup2(err_, STDERR_FILENO);
    execve(words[0], words.data(), variables.data());
    _exit(127);
  }
  close(input);
  if (pid_ < 0)
    throw failure("fork");
  handle_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (handle_ < 0)
    throw failure("pidfd_open");
}

troupe_process::~troupe_process() {
  if (!end_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (auto pid : descendants())
    kill(pid, SIGKILL);
  for (auto descriptor : {out_, err_, handle_})
    close(descriptor);
}

void troupe_process::signal(int number) {
  if (!end_)
    kill(pid_, number);
}

std::optional<process_end> troupe_process::wait(wait_limit limit) {
  if (end_ || !readable(handle_, limit))
    return end_;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0)
    throw failure("waitid");
  end_ = end_of(info);
  return end_;
}

bool troupe_process::wait_until(const std::function<bool()>& condition,
                                wait_limit limit) {
  auto deadline = clock::now() + limit;
  while (!condition()) {
    if (clock::now() >= deadline)
      return false;
    if (wait(poll_interval))
      return condition();
  }
  return true;
}

bool troupe_process::wait_for_tokens(size_t count, wait_limit limit) {
  constexpr std::string_view start = "{\"event\":\"token\"";
  auto enough = [&] {
    auto text = out();
    size_t found = 0;
    for (auto at = text.find(start); at != std::string::npos;
         at = text.find(start, at + start.size()))
      ++found;
    return found >= count;
  };
  return wait_until(enough, limit);
}

bool troupe_process::wait_for_error_text(std::string_view text,
                                         wait_limit limit) {
  return wait_until([&] { return err().find(text) != std::string::npos; },
                    limit);
}

std::string troupe_process::out() const {
  return contents(out_);
}

std::string troupe_process::err() const {
  return contents(err_);
}

std::vector<nlohmann::json> troupe_process::events() const {
  auto text = out();
  std::vector<nlohmann::json> result;
  for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos;
       at = end + 1) {
    auto line = text.substr(at, end - at);
    auto parsed = nlohmann::json::parse(line, nullptr, false);
    if (parsed.is_discarded())
      throw std::runtime_error("not JSON: " + line + "\nof " + command_line_);
    result.push_back(std::move(parsed));
  }
  return result;
}

std::vector<pid_t> troupe_process::descendants() const {
  std::vector<pid_t> result;
  for (auto& entry : std::filesystem::directory_iterator("/proc")) {
    auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos)
      continue;
    auto pid = static_cast<pid_t>(std::stol(name));
    auto words =
      pid == pid_ ? std::vector<std::string>{} : proc_words(pid, "environ");
    if (std::find(words.begin(), words.end(), mark_) != words.end())
      result.push_back(pid);
  }
  std::sort(result.begin(), result.end());
  return result;
}

pid_t troupe_process::worker(std::string_view name) const {
  for (auto pid : descendants()) {
    auto words = proc_words(pid, "cmdline");
    auto option = std::find(words.begin(), words.end(), "--name");
    if (option != words.end() && ++option != words.end() && *option == name)
      return pid;
  }
  return 0;
}

std::vector<pid_t>
troupe_process::wait_for_no_descendants(wait_limit limit) const {
  auto deadline = clock::now() + limit;
  while (true) {
    auto left = descendants();
    if (left.empty() || clock::now() >= deadline)
      return left;
    poll(nullptr, 0, static_cast<int>(poll_interval.count()));
  }
}

troupe_run run_troupe(std::vector<std::string> arguments, wait_limit limit) {
  troupe_process process{std::move(arguments)};
  auto deadline = clock::now() + patient(limit);
  troupe_run run;
  run.command_line = process.command_line();
  run.end = process.wait(rest_of(deadline));
  run.out = process.out();
  run.err = process.err();
  if (run.end)
    run.left_behind =
      process.wait_for_no_descendants(patient(std::chrono::seconds(5)));
  if (run.out.starts_with('{'))
    run.events = process.events();
  return run;
}

std::string describe(const troupe_run& x) {
  constexpr size_t shown_max = 4000;
  auto shown = x.out.size() <= shown_max
                 ? x.out
                 : "... " + x.out.substr(x.out.size() - shown_max);
  return x.command_line + "\n" +
         (x.end ? to_string(*x.end) : std::string{"not ended in time"}) +
         "\nstderr:\n" + x.err + "stdout:\n" + shown;
}

} // namespace troupe::testing
