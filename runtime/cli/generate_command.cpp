// `troupe generate`: continues prompts, on this process or a small cluster.
#include "runtime/cli/answer_printer.hpp"
#include "runtime/cli/command.hpp"
#include "runtime/cli/head_setup.hpp"
#include "runtime/cli/prompt_source.hpp"
#include "runtime/cli/sampling_arguments.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/cli/statistics_text.hpp"
#include "runtime/trace/chrome_trace.hpp"

#include <cstdio>

namespace troupe::cli {

namespace {

constexpr auto stop_limit = std::chrono::seconds(3);

struct generate_arguments {
  head_arguments head;
  prompt_arguments prompts;
  sampling_arguments sampling;
  bool json = false;
};

/// One run of the command, from setup to the last line.
class generation {
public:
  explicit generation(const generate_arguments& x) : arguments_(x) {
    // nop
  }

  int run() {
    auto setup = prepare_head(arguments_.head);
    if (!setup)
      return report(setup.error());
    if (arguments_.json)
      setup->loading = load_wish::silent;
    auto& options = setup->options;
    auto params = arguments_.sampling.params(options.model->generation);
    if (!params)
      return report(params.error());
    auto requests = read_prompts(arguments_.prompts, options.text, *params);
    if (!requests)
      return report(requests.error());
    options.requests_max = std::max(options.requests_max, requests->size());
    options.schedule.max_waiting = std::max(
      options.schedule.max_waiting, static_cast<uint32_t>(requests->size()));
    printer_options printing;
    printing.format =
      arguments_.json ? answer_format::json : answer_format::text;
    printing.numbered = arguments_.prompts.many();
    printing.text = options.text;
    answer_printer printer{std::move(printing), [this] { signals_.notify(); }};
    auto head = start_head(*setup, [this] { return signals_.asked_to_end(); });
    if (!head)
      return report(head.error());
    auto code = answer(**head, printer, std::move(*requests));
    (*head)->stop(stop_limit, code);
    return code;
  }

private:
  int answer(cluster_head& head, answer_printer& printer,
             std::vector<generation_request> requests) {
    std::vector<sequence_id> ids;
    for (auto& request : requests) {
      auto sink = printer.add(request.params);
      if (!sink)
        return report(sink.error());
      auto id = head.submit(std::move(request), std::move(*sink));
      if (!id)
        return report(id.error());
      ids.push_back(*id);
    }
    signals_.wait([&] {
      return printer.all_finished() || printer.output_failed() ||
             head.failure();
    });
    // What goes wrong with the output is said at the end of the program.
    auto interrupted = !printer.all_finished() && !printer.output_failed();
    // Nothing follows the "done" lines.
    if (!printer.all_finished())
      for (auto id : ids)
        head.cancel(id);
    auto stats = head.stats();
    auto nodes = head.cluster();
    auto failure = printer.finish(statistics_json(stats, *nodes));
    if (!arguments_.json && !arguments_.head.quiet)
      std::fprintf(stderr, "%s", statistics_text(stats, *nodes).c_str());
    if (auto saved = save_trace(head); !saved)
      return report(saved.error());
    if (failure)
      return std::max<int>(report(*failure), exit_failed);
    if (interrupted)
      note("interrupted");
    return interrupted ? exit_failed : exit_done;
  }

  result<void> save_trace(cluster_head& head) const {
    if (arguments_.head.trace_file.empty())
      return {};
    return save_chrome_trace(arguments_.head.trace_file,
                             head.options().spans->take());
  }

  const generate_arguments& arguments_;
  signal_watch signals_;
};

} // namespace

void add_generate(CLI::App& app, action& chosen) {
  auto x = std::make_shared<generate_arguments>();
  auto command = app.add_subcommand("generate", "continue a text");
  command->footer(
    "examples:\n"
    "  troupe generate --model models/demo --prompt \"It is a truth\"\n"
    "  troupe generate --model models/demo --prompt \"def main\" "
    "--temperature 0 --max-tokens 40 --json\n"
    "  troupe generate --model models/demo --prompt \"It is\" --workers 3 "
    "--fault kill:w2@token=10\n");
  x->head.declare(*command);
  x->prompts.declare(*command);
  x->sampling.declare(*command);
  command->add_flag("--json", x->json, "one JSON object a line");
  command->callback(
    [x, &chosen] { chosen = [x] { return generation{*x}.run(); }; });
}

} // namespace troupe::cli
