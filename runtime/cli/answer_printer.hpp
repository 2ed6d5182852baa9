// What `generate` prints while tokens come: text as it is complete, or one JSON
// object a line. Thread-safe: tokens come from the engine's threads.
#pragma once

#include "runtime/engine/request_ledger.hpp"
#include "runtime/engine/text_stream.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cli {

enum class answer_format : uint8_t { text, json };

struct printer_options {
  answer_format format = answer_format::text;
  bool numbered = false; ///< Say which prompt each line belongs to.
  std::optional<tokenizer> text;
};

/// The answers of one `generate`: makes a sink for each prompt.
class answer_printer {
public:
  answer_printer(printer_options options, std::function<void()> on_changed);

  /// Adds the next prompt and returns its sink. Fails like `text_stream::make`.
  /// The sink must not outlive the printer.
  result<std::shared_ptr<token_sink>> add(const sampling_params& params);

  /// True when every prompt is finished.
  bool all_finished() const;

  /// True once standard output took no more, e.g. because its reader has left.
  bool output_failed() const;

  /// Prints what remains: the texts of several prompts, or the "done" objects
  /// with `statistics` (a JSON object). Returns the first error, if any.
  std::optional<error> finish(const std::string& statistics);

private:
  class sink;
  struct answer {
    std::optional<text_stream> stream;
    std::string text; ///< Of one of several prompts, until it is printed.
    std::vector<token_id> ids;
    std::optional<finish_reason> reason;
    std::optional<error> why;
  };

  void show(size_t prompt, token_id id);
  void token(size_t prompt, token_id id);
  void finished(size_t prompt, finish_reason reason,
                const std::optional<error>& why);
  void emit(answer& x, const std::string& text);

  const printer_options options_;
  const std::function<void()> on_changed_;
  mutable std::mutex mutex_;
  std::vector<answer> answers_;
  bool output_failed_ = false;
};

} // namespace troupe::cli
