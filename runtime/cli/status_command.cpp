// `troupe status`: what a running head says of its nodes, actors and map.
#include "runtime/cli/command.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/cli/status_text.hpp"
#include "runtime/server/http_get.hpp"

#include <cstdio>

namespace troupe::cli {

namespace {

struct status_arguments {
  std::string url = "http://127.0.0.1:8080";
  double timeout_seconds = 5;
  bool json = false;
};

result<std::string> fetch_status(const status_arguments& x) {
  http_get_options options;
  options.deadline = std::chrono::duration_cast<duration>(
    std::chrono::duration<double>(x.timeout_seconds));
  auto reply = http_get(x.url, "/cluster", options);
  if (!reply)
    return tl::unexpected(std::move(reply.error()));
  if (reply->status != 200)
    return fail(ec::io, "{}/cluster: HTTP status {}, expected 200: {}", x.url,
                reply->status, reply->body.substr(0, 200));
  return std::move(reply->body);
}

int run_status(const status_arguments& x) {
  signal_watch::unblock();
  auto document = fetch_status(x);
  if (!document)
    return report(document.error());
  auto text = x.json ? std::move(document) : status_text(*document);
  if (!text)
    return report(text.error());
  std::fwrite(text->data(), 1, text->size(), stdout);
  return exit_done;
}

} // namespace

void add_status(CLI::App& app, action& chosen) {
  auto x = std::make_shared<status_arguments>();
  auto command = app.add_subcommand(
    "status", "show nodes, actors and expert map of a running head");
  command->footer("examples:\n"
                  "  troupe status\n"
                  "  troupe status --url http://127.0.0.1:8080 --json\n");
  command->add_option("--url", x->url,
                      "of the head (default http://127.0.0.1:8080)");
  command
    ->add_option("--timeout", x->timeout_seconds,
                 "seconds to wait for the answer (default 5)")
    ->check(CLI::Range(0.01, 600.0));
  command->add_flag("--json", x->json, "print the JSON document");
  command->callback([x, &chosen] { chosen = [x] { return run_status(*x); }; });
}

} // namespace troupe::cli
