#include "runtime/cli/model_options.hpp"

#include "runtime/cache/cache_folder.hpp"
#include "runtime/cli/command.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sstream>

namespace troupe::cli {

namespace {

constexpr uintmax_t text_bytes_max = uintmax_t{64} << 20;

uint32_t usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  return static_cast<uint32_t>(std::max(CPU_COUNT(&set), 1));
}

} // namespace

void model_options::declare(CLI::App& app) {
  app.add_option("--model", folder, "checkpoint folder");
  app.add_option("--dtype", dtype, "numbers to compute in")
    ->check(CLI::IsMember({"bf16", "f32"}));
  app
    .add_option("--isa", isa,
                "use no better instructions than these (same bits in bf16)")
    ->check(CLI::IsMember({"amx", "avx512", "avx2", "scalar"}));
  app.add_option("--lanes", lanes, "compute threads (default: one per core)")
    ->check(CLI::Range(1u, 1024u));
  app.add_flag("--no-cache", no_cache,
               "neither use nor fill the cache of packed weights");
  app.add_option("--cache-dir", cache_dir,
                 "folder of packed weights (default: $XDG_CACHE_HOME/troupe, "
                 "else ~/.cache/troupe)");
  app
    .add_option("--cache-pages", cache_pages,
                "read cached weights from the file's pages, or from a copy")
    ->check(CLI::IsMember({"auto", "file", "anonymous"}));
  app.add_option("--cache-bytes-max", cache_bytes_max)->group("");
}

image_cache_options model_options::cache(cache_config x) const {
  image_cache_options out;
  if (no_cache || !x.enabled)
    return out;
  out.folder = cache_dir.empty() ? x.dir : cache_dir;
  if (out.folder.empty())
    out.folder = default_cache_folder().value_or("");
  if (out.folder.empty()) {
    note("no cache of packed weights: neither XDG_CACHE_HOME nor HOME says "
         "where; use --cache-dir");
    return out;
  }
  for (const auto& [name, value] : cache_pages_names)
    if (name == cache_pages)
      x.pages = value;
  out.pages = x.pages == cache_pages::file        ? image_pages::file
              : x.pages == cache_pages::anonymous ? image_pages::anonymous
                                                  : image_pages::automatic;
  const auto bound = cache_bytes_max.value_or(x.bytes_max.bytes);
  if (bound != 0)
    out.bytes_max = bound;
  out.warn = note;
  return out;
}

result<kernels::compute_options> model_options::compute() const {
  kernels::compute_options x;
  if (!dtype.empty())
    x.mode = *kernels::numeric_mode_from_name(dtype);
  if (isa.empty())
    return x;
  x.isa = *kernels::isa_from_name(isa);
  if (!kernels::supported(x.isa))
    return fail(ec::unsupported,
                "--isa {}: this machine cannot run it; its best is {}", isa,
                kernels::to_string(kernels::best_isa()));
  return x;
}

kernels::lanes_options model_options::lane_options() const {
  kernels::lanes_options x;
  x.count = lanes == 0 ? usable_cores() : lanes;
  // Whoever waited for them is gone when the lanes end.
  x.shutdown = kernels::on_shutdown::drop_jobs;
  return x;
}

result<std::optional<tokenizer>> open_tokenizer(const std::string& folder) {
  auto path = std::filesystem::path(folder) / "tokenizer.json";
  auto loaded = tokenizer::load(path);
  if (!loaded && loaded.error().code == ec::not_found)
    return std::nullopt;
  if (!loaded)
    return tl::unexpected(std::move(loaded.error()));
  return std::optional<tokenizer>{std::move(*loaded)};
}

result<model_ptr> open_noted_model(const std::string& folder) {
  auto model = open_model(folder);
  if (model)
    note_warnings(**model);
  return model;
}

void note_warnings(const opened_model& model) {
  for (auto& warning : model.warnings)
    note("warning: " + warning);
}

result<void> need_model(const std::string& folder) {
  if (folder.empty())
    return fail(ec::invalid_argument,
                "--model: which model? Give a checkpoint folder, e.g. --model "
                "models/demo");
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    return fail(ec::not_found, "{}: no such folder", folder);
  return {};
}

result<tokenizer> need_tokenizer(const std::string& folder) {
  if (auto ok = need_model(folder); !ok)
    return tl::unexpected(std::move(ok.error()));
  auto found = open_tokenizer(folder);
  if (!found)
    return tl::unexpected(std::move(found.error()));
  if (!*found)
    return fail(ec::not_found,
                "{}: there is no tokenizer.json: text cannot be used with this "
                "model, token ids can (--ids)",
                folder);
  return std::move(**found);
}

result<std::vector<token_id>> parse_ids(const std::string& text) {
  std::vector<token_id> ids;
  std::istringstream in{text};
  std::string item;
  while (std::getline(in, item, ',')) {
    auto first = item.find_first_not_of(" \t\n[");
    auto last = item.find_last_not_of(" \t\n]");
    auto word = first == std::string::npos
                  ? std::string{}
                  : item.substr(first, last - first + 1);
    token_id id = 0;
    auto [end, failed] =
      std::from_chars(word.data(), word.data() + word.size(), id);
    if (failed != std::errc{} || end != word.data() + word.size() || id < 0)
      return fail(ec::invalid_argument,
                  "--ids: \"{}\": expected token ids as in 1,2,3", item);
    ids.push_back(id);
  }
  if (ids.empty())
    return fail(ec::invalid_argument, "--ids: expected at least one token id");
  return ids;
}

result<std::string> read_text_file(const std::string& path) {
  std::error_code failed;
  auto size = std::filesystem::file_size(path, failed);
  if (failed)
    return fail(ec::not_found, "{}: {}", path, failed.message());
  if (size > text_bytes_max)
    return fail(ec::invalid_argument, "{}: {} bytes, expected at most {}", path,
                size, text_bytes_max);
  std::ifstream in{path, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  if (!in)
    return fail(ec::io, "{}: cannot be read", path);
  return text.str();
}

} // namespace troupe::cli
