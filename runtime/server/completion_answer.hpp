// Turns the events of one completion into the bytes of its HTTP response. The
// head of a stream is written with the first event only, so that a request that
// fails before its first token is answered with a proper status.
#pragma once

#include "runtime/server/http_message.hpp"
#include "runtime/server/openai_types.hpp"

#include <string>

namespace troupe {

/// The response to one completion request. Each function returns the bytes to
/// send now; after `done` or `failed` the response is complete.
class completion_answer {
public:
  completion_answer(completion_header header, delivery how,
                    reply_framing framing);

  /// Nothing for a piece without text and ids, and for a whole delivery.
  std::string piece(completion_piece x);

  std::string done(const completion_end& x);

  /// Once a stream has begun, the error is its last event but [DONE].
  std::string failed(const error& x);

  /// The status sent, or 200 while nothing was.
  unsigned status() const {
    return status_;
  }

private:
  bool streams() const {
    return how_ != delivery::whole;
  }

  /// Frames `events` as body bytes, after the head if that is missing.
  std::string body_part(std::string events);

  completion_header header_;
  delivery how_;
  reply_framing framing_;
  completion_piece all_; ///< What a whole delivery has collected.
  bool head_sent_ = false;
  unsigned status_ = 200;
};

} // namespace troupe
