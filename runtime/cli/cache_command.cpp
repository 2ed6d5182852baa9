// `troupe cache`: what is in the folder of packed weights, and away with it.
#include "config/cluster_config.hpp"
#include "runtime/cache/cache_folder.hpp"
#include "runtime/cli/command.hpp"
#include "runtime/cli/signal_watch.hpp"
#include "runtime/cli/size_text.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace troupe::cli {

namespace {

using json = nlohmann::ordered_json;

struct cache_arguments {
  std::string folder;
  std::string config_file;
  bool json = false;
};

result<std::string> folder_of(const cache_arguments& x) {
  if (!x.folder.empty())
    return x.folder;
  if (!x.config_file.empty()) {
    auto read = read_cluster_config(x.config_file);
    if (!read)
      return tl::unexpected(std::move(read.error()));
    if (!read->cache.dir.empty())
      return read->cache.dir;
  }
  if (auto found = default_cache_folder())
    return *found;
  return fail(ec::invalid_argument,
              "--cache-dir: which folder? Neither XDG_CACHE_HOME nor HOME says "
              "where the cache is");
}

void print(const cached_file& x, const cache_arguments& how) {
  const auto used =
    std::chrono::duration_cast<std::chrono::seconds>(x.used.time_since_epoch());
  if (how.json) {
    const json line{{"path", x.path},
                    {"note", x.note},
                    {"bytes", x.disk_bytes},
                    {"used", used.count()},
                    {"in_use", x.in_use}};
    std::printf(
      "%s\n",
      line.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("%10s  %s  %s\n", bytes_text(x.disk_bytes).c_str(),
              x.path.c_str(), x.note.empty() ? "(damaged)" : x.note.c_str());
  if (x.in_use)
    std::printf("%10s  in use\n", "");
}

int list(const cache_arguments& x) {
  signal_watch::unblock();
  const auto folder = folder_of(x);
  if (!folder)
    return report(folder.error());
  const auto found = list_cache(*folder);
  if (!found)
    return report(found.error());
  for (const auto& file : *found)
    print(file, x);
  if (found->empty() && !x.json)
    std::printf("%s: empty\n", folder->c_str());
  return exit_done;
}

int clear(const cache_arguments& x) {
  signal_watch::unblock();
  const auto folder = folder_of(x);
  if (!folder)
    return report(folder.error());
  const auto found = list_cache(*folder);
  if (!found)
    return report(found.error());
  uint64_t freed = 0;
  size_t kept = 0;
  for (const auto& file : *found)
    if (remove_unused(file.path))
      freed += file.disk_bytes;
    else
      ++kept;
  if (x.json)
    std::printf("%s\n", json{{"bytes", freed}, {"kept", kept}}.dump().c_str());
  else
    std::printf("%s freed, %zu files in use kept\n", bytes_text(freed).c_str(),
                kept);
  return exit_done;
}

} // namespace

void add_cache(CLI::App& app, action& chosen) {
  auto x = std::make_shared<cache_arguments>();
  auto command = app.add_subcommand(
    "cache", "packed weights on this machine's disk: list, clear");
  command->footer("examples:\n"
                  "  troupe cache list\n"
                  "  troupe cache clear --cache-dir /var/cache/troupe\n");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, auto run) {
    auto sub = command->add_subcommand(name, what);
    sub->add_option("--cache-dir", x->folder, "folder of packed weights");
    sub->add_option("--config", x->config_file,
                    "configuration whose [cache] names the folder");
    sub->add_flag("--json", x->json, "one JSON object a line");
    sub->callback([x, run, &chosen] { chosen = [x, run] { return run(*x); }; });
  };
  add("list", "the files, least recently used first", list);
  add("clear", "remove all files that no process uses", clear);
}

} // namespace troupe::cli
