#include "runtime/server/completion_answer.hpp"

#include "runtime/server/openai_api.hpp"
#include "runtime/server/sse.hpp"

#include <utility>

namespace troupe {

completion_answer::completion_answer(completion_header header, delivery how,
                                     reply_framing framing)
  : header_(std::move(header)), how_(how), framing_(framing) {
  // nop
}

std::string completion_answer::piece(completion_piece x) {
  if (x.text.empty() && x.ids.empty())
    return {};
  if (streams())
    return body_part(sse_event(piece_document(header_, x)));
  all_.text += x.text;
  all_.ids.insert(all_.ids.end(), x.ids.begin(), x.ids.end());
  return {};
}

std::string completion_answer::done(const completion_end& x) {
  if (!streams()) {
    http_reply reply;
    reply.body = completion_document(header_, all_, x) + "\n";
    return render(reply, framing_);
  }
  auto events = sse_event(end_document(header_, x));
  if (how_ == delivery::stream_with_usage)
    events += sse_event(usage_document(header_, x));
  auto bytes = body_part(events + sse_end());
  return framing_.version == 10 ? bytes : bytes + http_last_chunk();
}

std::string completion_answer::failed(const error& x) {
  auto problem = to_api_error(x);
  if (!head_sent_) {
    status_ = problem.status;
    return render(error_reply(problem), framing_);
  }
  auto bytes = body_part(sse_event(error_document(problem)) + sse_end());
  return framing_.version == 10 ? bytes : bytes + http_last_chunk();
}

std::string completion_answer::body_part(std::string events) {
  std::string result;
  if (!std::exchange(head_sent_, true))
    result = render_stream_head(framing_);
  return result += framing_.version == 10 ? events : http_chunk(events);
}

} // namespace troupe
