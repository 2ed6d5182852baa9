// The statistics of a run, for people and for scripts.
#pragma once

#include "actors/cluster_statistics.hpp"
#include "actors/membership/cluster_snapshot.hpp"

#include <string>

namespace troupe::cli {

/// A JSON object: tokens/s, pairs by route, waits, failures, and per node
/// pairs, batches and times. Times in seconds.
std::string statistics_json(const statistics& x, const cluster_snapshot& nodes);

/// A few lines of text.
std::string statistics_text(const statistics& x, const cluster_snapshot& nodes);

} // namespace troupe::cli
