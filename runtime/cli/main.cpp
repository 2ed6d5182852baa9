// The `troupe` program: picks the command and turns what happens into an exit
// code. Signals are blocked before any thread exists; signal_watch waits for
// them.
#include "runtime/cli/command.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/version.hpp"

#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <unistd.h>

namespace {

constexpr auto description =
  "Runs mixture-of-experts language models on one or many ordinary machines,\n"
  "with the same tokens wherever and however they run.\n"
  "\n"
  "  troupe generate --model models/demo --prompt \"It is a truth\"\n"
  "  troupe generate --model models/demo --prompt \"It is\" --workers 3\n"
  "  troupe serve --model models/demo\n";

/// A file that is closed at the start would lend its number to a socket, and
/// what is printed would go to a peer.
void open_standard_files() {
  for (auto number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0)
      std::ignore = open("/dev/null", O_RDWR);
}

/// The exit code of a command, unless its output was lost.
int with_output_checked(int code) {
  using namespace troupe::cli;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
    return code;
  note("standard output: not all could be written; is its reader gone, or the "
       "disk full?");
  return exit_failed;
}

} // namespace

int main(int argc, char** argv) {
  using namespace troupe::cli;
  open_standard_files();
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
  add_chat_template(app, chosen);
  add_eval(app, chosen);
  add_status(app, chosen);
  add_bench(app, chosen);
  add_cache(app, chosen);
  try {
    app.parse(argc, argv);
    return with_output_checked(chosen());
  } catch (const CLI::ParseError& x) {
    return app.exit(x) == 0 ? exit_done : exit_usage;
  } catch (const std::bad_alloc&) {
    note("out of memory");
  } catch (const std::exception& x) {
    note(x.what());
  }
  return exit_failed;
}
