// A subcommand of `troupe`: its options are declared on a CLI11 app, its work
// is a function that returns the exit code (0 done, 1 failed, 2 wrong usage).
#pragma once

#include "runtime/error.hpp"

#include <CLI/CLI.hpp>
#include <functional>

namespace troupe::cli {

enum exit_code : int { exit_done = 0, exit_failed = 1, exit_usage = 2 };

/// What the parsed command line asks for; set by a subcommand's callback.
using action = std::function<int()>;

// One function per command; each declares its options on a new subcommand of
// `app` and sets `chosen` when the user picks it.
void add_generate(CLI::App& app, action& chosen);
void add_serve(CLI::App& app, action& chosen);
void add_worker(CLI::App& app, action& chosen);
void add_inspect(CLI::App& app, action& chosen);
void add_tokenize(CLI::App& app, action& chosen);
void add_detokenize(CLI::App& app, action& chosen);
void add_chat_template(CLI::App& app, action& chosen);
void add_eval(CLI::App& app, action& chosen);
void add_status(CLI::App& app, action& chosen);
void add_bench(CLI::App& app, action& chosen);
void add_cache(CLI::App& app, action& chosen);

// What can be measured: subcommands of `bench`.
void add_bench_tokenizer(CLI::App& bench, action& chosen);

/// Prints "troupe: MESSAGE" to stderr. Returns the exit code that suits it.
int report(const error& x);

/// Prints progress or a note to stderr, as a line of its own.
void note(const std::string& text);

} // namespace troupe::cli
