#include "runtime/trace/chrome_trace.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace troupe {

namespace {

/// Returns `text` as a JSON string; bytes that are not UTF-8 become '?'.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (auto c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (result += '\\') += c;
    else if (byte < 0x20)
      result += fmt::format("\\u{:04x}", byte);
    else
      result += byte < 0x7f ? c : '?';
  }
  return result += '"';
}

/// A line of the timeline: Chrome's process and thread numbers.
struct track {
  int process = 0;
  int thread = 0;
  bool operator==(const track&) const = default;
};

/// Numbers processes and threads in order of their names, the head first.
class track_table {
public:
  explicit track_table(const std::vector<span>& spans) {
    processes_["head"];
    for (const auto& x : spans)
      processes_[x.node].threads[x.actor];
    int process = 1;
    for (auto& [name, entry] : processes_) {
      entry.number = name == "head" ? 1 : ++process;
      int thread = 0;
      for (auto& [actor, number] : entry.threads)
        number = ++thread;
    }
  }

  track of(const span& x) const {
    const auto& entry = processes_.at(x.node);
    return {entry.number, entry.threads.at(x.actor)};
  }

  /// Calls `emit` with each metadata event that names a process or thread.
  template <class Emit>
  void name_all(Emit emit) const {
    auto name = [&](std::string_view what, int pid, int tid,
                    std::string_view value) {
      emit(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},)"
                       R"("args":{{"name":{}}}}})",
                       what, pid, tid, quoted(value)));
    };
    for (const auto& [node, entry] : processes_) {
      name("process_name", entry.number, 0, node);
      for (const auto& [actor, number] : entry.threads)
        name("thread_name", entry.number, number, actor);
    }
  }

private:
  struct process_entry {
    int number = 0;
    std::map<std::string, int> threads;
  };
  std::map<std::string, process_entry> processes_;
};

/// Microseconds with the steady clock's nanoseconds as decimals.
std::string micros(duration x) {
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(x).count();
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

template <class Id>
void append_id(std::string& out, std::string_view key,
               const std::optional<Id>& id) {
  if (id)
    out += fmt::format(R"("{}":{},)", key, id->value);
}

std::string args_object(const span& x) {
  // Ids of 64 bits are strings: JavaScript's numbers have 53.
  std::string result = fmt::format(R"({{"trace":"{:016x}",)", x.context.trace);
  append_id(result, "request", x.request);
  append_id(result, "pass", x.pass);
  append_id(result, "layer", x.layer);
  append_id(result, "batch", x.batch);
  for (const auto& arg : x.args) {
    if (arg.key == nullptr)
      break;
    result += fmt::format("{}:{},", quoted(arg.key), arg.value);
  }
  result.back() = '}';
  return result;
}

/// Writes the events of one document.
class trace_writer {
public:
  trace_writer(std::ostream& out, const std::vector<span>& spans)
    : out_(out), spans_(spans), tracks_(spans) {
    for (const auto& x : spans) {
      origin_ = std::min(origin_, x.start);
      by_id_.emplace(x.context.span, &x);
    }
  }

  void write_events() {
    tracks_.name_all([this](const std::string& text) { event(text); });
    for (const auto& x : spans_) {
      write(x);
      write_arrow(x);
    }
  }

private:
  void event(std::string_view text) {
    out_ << (first_ ? "\n" : ",\n") << text;
    first_ = false;
  }

  /// The members every event has, without braces.
  std::string common(std::string_view phase, const span& x, time_point at) {
    auto where = tracks_.of(x);
    return fmt::format(R"("ph":"{}","cat":{},"ts":{},"pid":{},"tid":{})", phase,
                       quoted(x.category), micros(at - origin_), where.process,
                       where.thread);
  }

  void write(const span& x) {
    auto name = quoted(x.name);
    auto end = std::max(x.start, x.end);
    if (x.kind == span_kind::work) {
      event(fmt::format(R"({{{},"name":{},"dur":{},"args":{}}})",
                        common("X", x, x.start), name, micros(end - x.start),
                        args_object(x)));
      return;
    }
    // One id per pair, or overlapping waits of one name would be joined.
    auto id = ++pairs_;
    event(fmt::format(R"({{{},"name":{},"id":{},"args":{}}})",
                      common("b", x, x.start), name, id, args_object(x)));
    event(fmt::format(R"({{{},"name":{},"id":{}}})", common("e", x, end), name,
                      id));
  }

  /// The way from the span that caused `x`, if that is on another line.
  void write_arrow(const span& x) {
    auto found = x.parent == 0 ? by_id_.end() : by_id_.find(x.parent);
    if (found == by_id_.end() || tracks_.of(*found->second) == tracks_.of(x))
      return;
    const auto& cause = *found->second;
    // An arrow must leave inside its slice and not arrive before it left.
    auto leaves =
      std::clamp(x.start, cause.start, std::max(cause.start, cause.end));
    auto arrives = std::max(leaves, x.start);
    auto id = ++arrows_;
    event(fmt::format(R"({{{},"name":"message","id":{}}})",
                      common("s", cause, leaves), id));
    event(fmt::format(R"({{{},"name":"message","id":{},"bp":"e"}})",
                      common("f", x, arrives), id));
  }

  std::ostream& out_;
  const std::vector<span>& spans_;
  track_table tracks_;
  std::unordered_map<uint64_t, const span*> by_id_;
  time_point origin_ = time_point::max();
  uint64_t pairs_ = 0;
  uint64_t arrows_ = 0;
  bool first_ = true;
};

} // namespace

void write_chrome_trace(std::ostream& out, const recorded_spans& recorded) {
  out << fmt::format(R"({{"displayTimeUnit":"ms","otherData":{{"spans":{},)"
                     R"("dropped_spans":{}}},"traceEvents":[)",
                     recorded.spans.size(), recorded.dropped);
  trace_writer{out, recorded.spans}.write_events();
  out << "\n]}\n";
}

result<void> save_chrome_trace(const std::string& path,
                               const recorded_spans& recorded) {
  auto failed = [&](std::string_view what) {
    auto reason = std::error_code{errno, std::generic_category()};
    return fail(ec::io, "{}: cannot {} the trace: {}", path, what,
                reason.message());
  };
  auto temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  errno = 0;
  std::ofstream out{temporary, std::ios::binary | std::ios::trunc};
  if (!out)
    return failed("create");
  write_chrome_trace(out, recorded);
  out.close();
  if (!out) {
    auto error = failed("write");
    std::remove(temporary.c_str());
    return error;
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = failed("rename");
    std::remove(temporary.c_str());
    return error;
  }
  return {};
}

} // namespace troupe
