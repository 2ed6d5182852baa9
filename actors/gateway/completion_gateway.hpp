// The engine as the HTTP server sees it, on top of a running head: text in,
// pieces of text out.
//
//   server's thread: start -> tokens -> head.submit
//   engine's thread: token -> text  -> sink.piece      (under the ledger entry)
//   own thread:      finished -> head.close -> sink.done | sink.failed
//
// The last step has a thread of its own: a token sink must not call the ledger.
#pragma once

#include "actors/gateway/cluster_document.hpp"
#include "actors/gateway/cluster_metrics.hpp"
#include "actors/head/cluster_head.hpp"
#include "runtime/server/completion_service.hpp"

#include <memory>
#include <thread>

namespace troupe {

class completion_gateway final : public completion_service {
public:
  /// `head` and `counts` must outlive it. `names` says what the model is called
  /// and which sampling is the default; its sizes are set from the head.
  completion_gateway(cluster_head& head, metrics& counts,
                     completion_limits names);

  /// Answers that have not ended by now never will: end server and head first,
  /// or do not care.
  ~completion_gateway() override;

  completion_gateway(const completion_gateway&) = delete;
  completion_gateway& operator=(const completion_gateway&) = delete;

  const completion_limits& limits() const override {
    return limits_;
  }
  result<request_handle> start(completion_request request,
                               std::shared_ptr<completion_sink> sink) override;
  void cancel(request_handle handle) override;
  std::optional<std::string> not_ready() const override;
  std::string cluster_json() const override;
  void before_metrics() override;

private:
  class answer;
  class ended_answers;

  result<std::vector<token_id>> encode(const completion_request& x) const;
  void close_ended();

  cluster_head& head_;
  completion_limits limits_;
  cluster_metrics metrics_;
  head_identity identity_;
  std::shared_ptr<ended_answers> ended_;
  std::thread closer_;
};

} // namespace troupe
