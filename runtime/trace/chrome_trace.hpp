// Writes spans as Chrome trace JSON (chrome://tracing, ui.perfetto.dev):
// an object with "traceEvents". Processes are the head and the nodes, threads
// are the actors, times are microseconds since the first span. Spans of kind
// `work` are complete events ("X"), those of kind `wait` asynchronous pairs
// ("b", "e") since they may overlap, and an arrow ("s", "f") leads from a span
// to each span it caused on another line.
#pragma once

#include "runtime/error.hpp"
#include "runtime/trace/span_sink.hpp"

#include <iosfwd>
#include <string>

namespace troupe {

/// Writes the document to `out`; the caller checks the stream.
void write_chrome_trace(std::ostream& out, const recorded_spans& recorded);

/// Writes the document to `path`: first to a temporary file beside it, renamed
/// when complete, so that `path` never holds half a trace.
/// Fails with ec::io and the system's reason.
result<void> save_chrome_trace(const std::string& path,
                               const recorded_spans& recorded);

} // namespace troupe
