// `troupe worker`: a node process that serves its share of the experts to a
// head, until it is told to end.
#include "actors/node/node_process.hpp"
#include "config/cluster_config.hpp"
#include "runtime/cli/command.hpp"
#include "runtime/cli/load_meter.hpp"
#include "runtime/cli/model_options.hpp"
#include "runtime/cli/signal_watch.hpp"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

namespace troupe::cli {

namespace {

constexpr auto stop_limit = std::chrono::seconds(3);

struct worker_arguments {
  model_options model;
  std::string config_file;
  std::string head;
  std::string name;
  std::string isa;
  uint64_t slow_pair_ns = 0;
  bool relaxed = false;
  bool insecure = false;
  int32_t parent = 0; ///< Set: a child of that process.
};

/// A child of a head must not outlive it: the kernel kills it with its parent,
/// even when it is stopped; and the end of its input means that the head wants
/// it to end.
void tie_to_parent(int32_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(exit_failed); // it is gone already
}

/// Returns once the standard input has ended or `ending` is set.
void wait_for_end_of_input(const std::function<bool()>& ending) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char buffer[64];
  while (!ending()) {
    if (poll(&input, 1, 50) <= 0)
      continue;
    if (read(STDIN_FILENO, buffer, sizeof buffer) <= 0)
      return;
  }
}

std::string default_name() {
  char host[65] = {};
  gethostname(host, sizeof host - 1);
  std::string name{host};
  for (auto& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' &&
        c != '.')
      c = '_';
  return fmt::format("{}-{}", name.empty() ? "node" : name.substr(0, 48),
                     getpid());
}

std::string_view describe(node_event x) {
  switch (x) {
  case node_event::connecting:
    return "connecting to";
  case node_event::refused:
    return "refused by the head:";
  case node_event::loading:
    return "loading the experts of";
  case node_event::failed:
    return "cannot load its experts:";
  case node_event::serving:
    return "serving";
  case node_event::lost:
    return "no head:";
  }
  return "";
}

/// The node's part of a configuration.
struct worker_config {
  node_config node;
  cache_config cache;
};

result<worker_config> configure(const worker_arguments& x) {
  worker_config out;
  auto& config = out.node;
  if (!x.config_file.empty()) {
    auto read = read_cluster_config(x.config_file);
    if (!read)
      return tl::unexpected(std::move(read.error()));
    config = read->worker;
    out.cache = read->cache;
  }
  if (!x.head.empty()) {
    auto parsed = parse_endpoint(x.head);
    if (!parsed)
      return wrap("--head", std::move(parsed.error()));
    config.head = *parsed;
  }
  if (!x.model.folder.empty())
    config.model = x.model.folder;
  if (config.model.empty())
    return fail(ec::invalid_argument,
                "--model: which model? Give this machine's checkpoint folder");
  if (!x.name.empty())
    config.name = x.name;
  if (config.name.empty())
    config.name = default_name();
  auto valid =
    config.name.size() <= 64 &&
    std::all_of(config.name.begin(), config.name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
    });
  if (!valid || config.name == "head")
    return fail(ec::invalid_argument,
                "--name {}: expected 1 to 64 of A-Z a-z 0-9 . _ - (and not "
                "\"head\")",
                config.name);
  if (x.model.lanes != 0)
    config.lanes = x.model.lanes;
  config.insecure = config.insecure || x.insecure;
  if (auto ok = check_loopback(config); !ok)
    return tl::unexpected(std::move(ok.error()));
  return out;
}

result<node_process_options> make_options(const worker_arguments& x,
                                          const worker_config& all) {
  auto& config = all.node;
  auto model = x.model;
  model.lanes = config.lanes;
  auto compute = model.compute();
  if (!compute)
    return tl::unexpected(std::move(compute.error()));
  node_process_options options;
  options.model = config.model;
  options.name = config.name;
  options.head.host = config.head.host;
  options.head.port = config.head.port;
  options.compute = *compute;
  options.relaxed = x.relaxed;
  options.lanes = model.lane_options();
  options.cache = model.cache(all.cache);
  if (config.memory.bytes != 0)
    options.memory_bytes = config.memory.bytes;
  options.reconnect.min = config.reconnect_min;
  options.reconnect.max = config.reconnect_max;
  options.delay_per_pair = std::chrono::nanoseconds(
    static_cast<int64_t>(std::min<uint64_t>(x.slow_pair_ns, 1'000'000'000)));
  // Shared by two callbacks of one actor, which come one after the other.
  auto meter = std::make_shared<std::optional<load_meter>>();
  if (x.parent == 0)
    options.loading = [meter](const model_ptr& opened, uint64_t bytes) {
      meter->emplace(opened, bytes, display_for(load_wish::shown));
    };
  options.report = [meter, name = config.name, child = x.parent != 0](
                     node_event what, const std::string& text) {
    meter->reset();
    // A head's own worker speaks up only when something needs a person.
    if (!child)
      note(fmt::format("{} {}", describe(what), text));
    else if (what == node_event::refused || what == node_event::failed)
      note(fmt::format("{}: {} {}", name, describe(what), text));
  };
  if (x.parent != 0)
    options.reconnect.min = std::chrono::milliseconds(20);
  return options;
}

int run_worker(const worker_arguments& x) {
  if (x.parent != 0)
    tie_to_parent(x.parent);
  auto config = configure(x);
  if (!config)
    return report(config.error());
  auto options = make_options(x, *config);
  if (!options)
    return report(options.error());
  signal_watch signals;
  auto node = node_process::start(std::move(*options));
  if (!node)
    return report(node.error());
  if (x.parent == 0) // a child's head has said it already
    note_warnings((*node)->model());
  auto failed = [&] { return (*node)->failure().has_value(); };
  if (x.parent != 0)
    wait_for_end_of_input([&] { return signals.asked_to_end() || failed(); });
  else
    signals.wait(failed);
  auto code = exit_done;
  if (auto why = (*node)->failure()) {
    note(*why);
    code = exit_failed;
  }
  (*node)->stop(stop_limit, code);
  return code;
}

} // namespace

void add_worker(CLI::App& app, action& chosen) {
  auto x = std::make_shared<worker_arguments>();
  auto command =
    app.add_subcommand("worker", "serve experts to a head from this machine");
  command->footer("examples:\n"
                  "  troupe worker --head 127.0.0.1:7600 --model models/demo "
                  "--name w1\n"
                  "  troupe worker --config config/cluster.toml --name w2\n");
  x->model.declare(*command);
  command->add_option("--config", x->config_file,
                      "cluster configuration; its [worker] table is read");
  command->add_option("--head", x->head, "HOST:PORT of the head's actor port");
  command->add_option("--name", x->name, "unique name in the cluster");
  command->add_flag("--relaxed", x->relaxed,
                    "serve a head whose kernels give other bits");
  command->add_flag("--insecure", x->insecure,
                    "dial beyond loopback without TLS");
  // Set by a head for the local processes it starts.
  command->add_option("--child-of", x->parent)->group("");
  command->add_option("--slow-pair-ns", x->slow_pair_ns)->group("");
  command->callback([x, &chosen] { chosen = [x] { return run_worker(*x); }; });
}

} // namespace troupe::cli
