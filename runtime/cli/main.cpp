// The `troupe` program: picks the command and turns what happens into an exit
// code. Signals are blocked before any thread exists; signal_watch waits for
// them.
#include "runtime/cli/command.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/version.hpp"

#include <cstdio>
#include <exception>

namespace {

constexpr auto description =
  "Runs mixture-of-experts language models on one or many ordinary machines,\n"
  "with the same tokens wherever and however they run.\n"
  "\n"
  "  troupe generate --model models/demo --prompt \"It is a truth\"\n"
  "  troupe generate --model models/demo --prompt \"It is\" --workers 3\n"
  "  troupe serve --model models/demo\n";

} // namespace

int main(int argc, char** argv) {
  using namespace troupe::cli;
  signal_watch::block();
  CLI::App app{description, "troupe"};
  app.set_version_flag("--version", std::string{troupe::version_text});
  app.require_subcommand(1);
  action chosen;
  add_generate(app, chosen);
  add_serve(app, chosen);
  add_worker(app, chosen);
  add_inspect(app, chosen);
  add_tokenize(app, chosen);
  add_detokenize(app, chosen);
  add_eval(app, chosen);
  add_status(app, chosen);
  add_bench(app, chosen);
  try {
    app.parse(argc, argv);
    return chosen();
  } catch (const CLI::ParseError& x) {
    return app.exit(x) == 0 ? exit_done : exit_usage;
  } catch (const std::bad_alloc&) {
    note("out of memory");
  } catch (const std::exception& x) {
    note(x.what());
  }
  return exit_failed;
}
