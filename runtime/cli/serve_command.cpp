// `troupe serve`: a head with an HTTP server, until it is told to end. The
// first signal drains: running answers may finish within the drain deadline.
#include "actors/gateway/completion_gateway.hpp"
#include "runtime/cli/command.hpp"
#include "runtime/cli/head_setup.hpp"
#include "runtime/cli/sampling_arguments.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/server/http_server.hpp"
#include "runtime/trace/chrome_trace.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace troupe::cli {

namespace {

/// Between the end of the drain and the end of the process: node processes and
/// actors have this long.
constexpr auto stop_limit = std::chrono::milliseconds(1000);
/// From the end of the drain deadline to the forced end.
constexpr auto forced_end_after = std::chrono::milliseconds(1600);

struct serve_arguments {
  head_arguments head;
  std::string listen;
};

/// The head's part of the configuration, as far as only `serve` needs it.
result<http_options> http_options_of(const serve_arguments& x,
                                     head_config& head) {
  if (!x.listen.empty()) {
    auto parsed = parse_endpoint(x.listen);
    if (!parsed)
      return wrap("--listen", std::move(parsed.error()));
    head.listen = *parsed;
    if (auto ok = check_loopback(head); !ok)
      return tl::unexpected(std::move(ok.error()));
  }
  http_options out;
  out.address = head.listen.host;
  out.port = head.listen.port;
  out.scope =
    head.insecure ? listen_scope::any_address : listen_scope::loopback_only;
  out.connections_max = head.http_connections;
  out.body_bytes_max = head.request_body.bytes;
  return out;
}

std::string model_name(const std::string& folder) {
  auto path = std::filesystem::path(folder).lexically_normal();
  auto name =
    path.has_filename() ? path.filename() : path.parent_path().filename();
  return name.empty() || name == "." ? "model" : name.string();
}

/// One run of the command.
class service {
public:
  explicit service(const serve_arguments& x) : arguments_(x) {
    // nop
  }

  int run() {
    auto setup = prepare_head(arguments_.head);
    if (!setup)
      return report(setup.error());
    auto http = http_options_of(arguments_, setup->config.head);
    if (!http)
      return report(http.error());
    drain_ = std::chrono::duration_cast<std::chrono::milliseconds>(
      setup->config.head.drain_deadline);
    signal_watch signals{drain_ + forced_end_after, [this] {
                           // Nothing is being served yet that could be ended.
                           if (!serving_)
                             _exit(exit_failed);
                         }};
    auto& options = setup->options;
    if (!options.cluster_listen) {
      auto& at = setup->config.head.cluster_listen;
      options.cluster_listen =
        listen_options{at.host, at.port,
                       setup->config.head.insecure ? exposure::insecure
                                                   : exposure::loopback_only};
    }
    options.worker_restart.shutdown = stop_limit / 2;
    if (!arguments_.head.quiet)
      options.on_node = [this](const member& x) {
        if (!ending_) // then they all go
          note(fmt::format("node {}: {}", x.name, to_string(x.state)));
      };
    auto head = load_head(*setup);
    if (!head)
      return report(head.error());
    auto code = serve(**head, *http, signals);
    (*head)->stop(stop_limit, code);
    return code;
  }

private:
  int serve(cluster_head& head, const http_options& http,
            signal_watch& signals) {
    metrics counts;
    completion_limits names;
    names.model_name = model_name(head.options().model->folder);
    names.defaults = sampling_defaults(head.options().model->generation);
    completion_gateway gateway{head, counts, std::move(names)};
    auto server = http_server::start(http, gateway, counts);
    if (!server)
      return report(server.error());
    serving_ = true;
    note(fmt::format("serving {} at {} (nodes join at {}:{})",
                     gateway.limits().model_name, (*server)->url(),
                     head.options().cluster_listen->address,
                     head.cluster_port()));
    signals.wait([&] { return head.failure().has_value(); });
    auto failure = head.failure();
    ending_ = true;
    note(failure ? "ending: " + *failure : "ending");
    (*server)->drain(drain_);
    (*server)->wait(drain_ + std::chrono::milliseconds(200));
    server->reset();
    auto code = save_trace(head);
    return failure ? exit_failed : code;
  }

  int save_trace(cluster_head& head) const {
    if (arguments_.head.trace_file.empty())
      return exit_done;
    auto saved = save_chrome_trace(arguments_.head.trace_file,
                                   head.options().spans->take());
    return saved ? exit_done : report(saved.error());
  }

  const serve_arguments& arguments_;
  std::chrono::milliseconds drain_{};
  std::atomic<bool> serving_{false};
  std::atomic<bool> ending_{false};
};

} // namespace

void add_serve(CLI::App& app, action& chosen) {
  auto x = std::make_shared<serve_arguments>();
  auto command = app.add_subcommand(
    "serve", "answer completion requests over HTTP until told to end");
  command->footer(
    "examples:\n"
    "  troupe serve --model models/demo\n"
    "  troupe serve --model models/demo --workers 3 --listen 127.0.0.1:8081\n"
    "  curl http://127.0.0.1:8080/v1/completions -H 'content-type: "
    "application/json' -d '{\"prompt\": \"It is a truth\"}'\n");
  x->head.declare(*command);
  command->add_option("--listen", x->listen,
                      "HOST:PORT for HTTP (default 127.0.0.1:8080; port 0: any "
                      "free one)");
  command->callback(
    [x, &chosen] { chosen = [x] { return service{*x}.run(); }; });
}

} // namespace troupe::cli
