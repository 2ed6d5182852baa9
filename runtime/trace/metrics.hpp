// The program's metrics: one table says which families exist (name, kind,
// label, buckets), `metrics` counts, and `text` renders what /metrics answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The metric families. The order is that of `metric_families()`.
enum class metric : uint8_t {
  requests,            ///< {outcome}: stop, length, cancelled, error, refused
  requests_running,    ///< Requests being generated now.
  tokens,              ///< {phase}: prefill, decode
  ttft_seconds,        ///< Time to first token.
  tpot_seconds,        ///< Time per output token after the first.
  pairs,               ///< {destination}: remote, local, rerouted
  batches,             ///< {node, outcome}: answered, failed
  remote_wait_seconds, ///< Time layers waited for remote experts.
  expert_compute_seconds, ///< {node}: compute time a node reports.
  node_state,             ///< {node, state}: 1 for the node's state, else 0
  node_restarts,          ///< {node}
  http_requests,          ///< {route, status}
  http_connections,       ///< Open HTTP connections.
  checkpoint_bytes_read,  ///< {process}: head or a node's name
  huge_page_bytes,        ///< {process}
};

/// The number of families.
inline constexpr size_t metric_count =
  static_cast<size_t>(metric::huge_page_bytes) + 1;

/// What one sample of a family is.
enum class metric_kind : uint8_t { counter, gauge, histogram };

/// One row of the table.
struct metric_family {
  metric id;
  metric_kind kind;
  std::string_view name; ///< As exposed: "troupe_requests_total".
  std::string_view help;
  std::array<std::string_view, 2> labels{}; ///< Empty: no (further) label.
  std::span<const double> buckets{};        ///< Upper bounds; histograms only.
};

/// Returns the table, one row per `metric`, in its order.
std::span<const metric_family> metric_families();

/// Counts and renders. Thread-safe. Series per family are bounded: label
/// values beyond `series_max` all count as "other".
class metrics {
public:
  static constexpr size_t series_max = 256;

  metrics();
  ~metrics();
  metrics(const metrics&) = delete;
  metrics& operator=(const metrics&) = delete;

  /// One series, looked up once by those who count often. Valid as long as the
  /// `metrics` it came from.
  class series {
  public:
    /// Adds `x` >= 0 to a counter, or any `x` to a gauge.
    void add(double x = 1) const;
    /// Sets a gauge.
    void set(double x) const;
    /// Adds an observation to a histogram.
    void observe(double x) const;

  private:
    friend class metrics;
    metric_kind kind_ = metric_kind::counter;
    void* target_ = nullptr;
  };

  /// Returns the series of `id` with these label values, in the table's order.
  /// @pre as many values as the family has labels
  series at(metric id, std::initializer_list<std::string_view> values = {});

  /// Returns all families in the Prometheus text format.
  std::string text() const;

private:
  struct implementation;
  std::unique_ptr<implementation> impl_;
};

} // namespace troupe
