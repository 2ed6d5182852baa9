#include "runtime/cli/status_text.hpp"

#include "runtime/cli/size_text.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

namespace troupe::cli {

namespace {

using json = nlohmann::json;

/// Rows of cells, each column as wide as its widest cell.
class text_table {
public:
  void add(std::vector<std::string> cells) {
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i)
      widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }

  std::string text() const {
    std::string out;
    for (const auto& row : rows_) {
      std::string line = " ";
      for (size_t i = 0; i < row.size(); ++i)
        line += fmt::format(" {:<{}}", row[i], widths_[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

private:
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

std::string text_of(const json& x, const char* key) {
  return x.at(key).get<std::string>();
}

uint64_t number(const json& x, const char* key) {
  return x.at(key).get<uint64_t>();
}

std::string count(const json& x, const char* key) {
  return std::to_string(number(x, key));
}

std::string uptime(double seconds) {
  const auto x = static_cast<uint64_t>(std::max(seconds, 0.0));
  if (x < 60)
    return fmt::format("{} s", x);
  if (x < 3600)
    return fmt::format("{} min {} s", x / 60, x % 60);
  return fmt::format("{} h {} min", x / 3600, x / 60 % 60);
}

std::string head_text(const json& x) {
  const auto port = number(x, "cluster_port");
  return fmt::format(
    "head: {} ({}..., {}, {}, {} lanes), troupe {}, up {}, nodes {}\n",
    text_of(x, "model"), text_of(x, "digest").substr(0, 12), text_of(x, "mode"),
    text_of(x, "isa"), number(x, "lanes"), text_of(x, "version"),
    uptime(x.at("uptime_seconds").get<double>()),
    port == 0 ? std::string{"are not expected"}
              : fmt::format("join at port {}", port));
}

std::string nodes_text(const json& nodes) {
  if (nodes.empty())
    return "nodes: none, the head serves all experts\n";
  text_table table;
  table.add({"name", "state", "experts", "memory", "pairs", "batches",
             "failures", "ms/batch", "restarts"});
  for (const auto& x : nodes) {
    const auto batches = number(x, "batches");
    const auto total = x.at("round_trip_seconds").get<double>() * 1000;
    table.add({text_of(x, "name"), text_of(x, "state"), count(x, "experts"),
               bytes_text(number(x, "expert_bytes")), count(x, "pairs"),
               count(x, "batches"), count(x, "failures"),
               batches == 0
                 ? "-"
                 : fmt::format("{:.2f}", total / static_cast<double>(batches)),
               count(x, "restarts")});
  }
  return "nodes:\n" + table.text();
}

std::string actors_text(const json& tree) {
  text_table table;
  for (const auto& x : tree.at("children")) {
    const auto why = text_of(x, "last_reason");
    table.add({"|- " + text_of(x, "name"),
               x.at("running").get<bool>()
                 ? "up " + uptime(x.at("uptime_seconds").get<double>())
                 : "down",
               fmt::format("{} restarts", number(x, "restarts")),
               why.empty() ? "" : "last: " + why});
  }
  return fmt::format("actors: {} ({})\n{}", text_of(tree, "name"),
                     text_of(tree, "strategy"), table.text());
}

std::string workers_text(const json& workers) {
  if (workers.empty())
    return "";
  text_table table;
  for (const auto& x : workers) {
    const auto pid = x.at("pid").get<int64_t>();
    const auto end = text_of(x, "last_end");
    table.add({text_of(x, "name"),
               pid >= 0                       ? fmt::format("pid {}", pid)
               : x.at("given_up").get<bool>() ? "given up"
                                              : "not running",
               fmt::format("{} restarts", number(x, "restarts")),
               end.empty() ? "" : "last: " + end});
  }
  return "local node processes:\n" + table.text();
}

/// Layers with equal shares stand on one line.
std::string map_text(const json& map) {
  auto out = fmt::format("map: version {}, {}, {} experts a layer\n",
                         number(map, "version"), text_of(map, "policy"),
                         number(map, "experts"));
  struct stretch {
    uint64_t first;
    uint64_t last;
    std::string shares;
  };
  std::vector<stretch> all;
  for (const auto& x : map.at("layers")) {
    std::string shares;
    for (const auto& [node, held] : x.at("experts").items())
      shares += fmt::format(" {} {}", node, held.size());
    const auto layer = number(x, "layer");
    if (!all.empty() && all.back().shares == shares)
      all.back().last = layer;
    else
      all.push_back({layer, layer, shares});
  }
  for (const auto& x : all)
    out += fmt::format("  layers {}-{}:{}\n", x.first, x.last, x.shares);
  return out;
}

std::string statistics_line(const json& x) {
  return fmt::format(
    "tokens: {} prompt, {} generated; pairs: {} remote, {} local, {} rerouted; "
    "{} failures\n",
    number(x, "prefill_tokens"), number(x, "decode_tokens"),
    number(x, "remote_pairs"), number(x, "local_pairs"),
    number(x, "rerouted_pairs"), number(x, "failures"));
}

} // namespace

result<std::string> status_text(std::string_view document) {
  try {
    const auto all = json::parse(document);
    return head_text(all.at("head")) + nodes_text(all.at("nodes")) +
           workers_text(all.at("workers")) + actors_text(all.at("actors")) +
           map_text(all.at("map")) + statistics_line(all.at("statistics"));
  } catch (const json::exception& x) {
    return fail(ec::bad_format,
                "the answer is not what a head says of its cluster: {}",
                x.what());
  }
}

} // namespace troupe::cli
