// What a session answers; how it reads and writes is in http_session.cpp.
#include "runtime/server/http_session.hpp"
#include "runtime/server/openai_api.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <fmt/format.h>
#include <utility>

namespace troupe {

namespace asio = boost::asio;

namespace {

int64_t unix_seconds() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string_view view(boost::beast::string_view x) {
  return {x.data(), x.size()};
}

} // namespace

void http_session::handle(request x) {
  disarm();
  state_ = state::answering;
  auto match = match_route(view(x.method_string()), view(x.target()));
  route_ = match.to;
  framing_ = {x.version(), x.keep_alive() && !host_.draining, match.head_only};
  // Keep watching the connection while the answer is made.
  read();
  if (x.version() != 10 && x.version() != 11) {
    framing_ = {11, false, match.head_only};
    reply_error(client_error(505, "only HTTP/1.1 and HTTP/1.0 are spoken here",
                             "http_version"));
  } else if (match.to == route::completions) {
    begin_completion(x.body());
  } else if (match.to != route::none) {
    reply(answer_to(match.to));
  } else if (match.status == 405) {
    auto refusal = error_reply(
      client_error(405,
                   fmt::format("{} is not allowed here, use {}",
                               view(x.method_string()), match.allow),
                   "method_not_allowed"));
    refusal.extra_headers = fmt::format("Allow: {}\r\n", match.allow);
    reply(refusal);
  } else {
    reply_error(client_error(
      404, fmt::format("no such path: {}", view(x.target()).substr(0, 200)),
      "unknown_path"));
  }
}

http_reply http_session::answer_to(route to) {
  http_reply result;
  switch (to) {
  case route::models:
    result.body = models_document(host_.service.limits(), unix_seconds());
    break;
  case route::health:
    result.body = R"({"status":"ok"})";
    break;
  case route::ready:
    if (host_.draining)
      return error_reply(
        unavailable("the server is shutting down", "draining"));
    if (auto reason = host_.service.not_ready())
      return error_reply(unavailable(*reason, "not_ready"));
    result.body = R"({"status":"ready"})";
    break;
  case route::metrics:
    host_.service.before_metrics();
    result.content_type = "text/plain; version=0.0.4; charset=utf-8";
    result.body = host_.counts.text();
    return result;
  case route::cluster:
    result.body = host_.service.cluster_json();
    break;
  case route::completions:
  case route::none:
    break;
  }
  result.body += '\n';
  return result;
}

void http_session::begin_completion(const std::string& body) {
  auto seed = host_.next_random() >> 11; // exact in a double, for any client
  auto call = parse_completion(body, host_.service.limits(), seed);
  if (!call) {
    reply_error(call.error());
    return;
  }
  std::optional<api_error> refusal;
  if (host_.draining)
    refusal = unavailable("the server is shutting down", "draining");
  else if (auto reason = host_.service.not_ready())
    refusal = unavailable(*reason, "not_ready");
  if (refusal) {
    host_.counts.at(metric::requests, {"refused"}).add();
    reply_error(*refusal);
    return;
  }
  run_completion(std::move(*call));
}

void http_session::run_completion(completion_call call) {
  if (framing_.version == 10 && call.how != delivery::whole)
    framing_.keep_alive = false; // only closing can end such a stream
  completion_header header;
  header.id = fmt::format("cmpl-{:016x}", host_.next_random());
  header.model = host_.service.limits().model_name;
  header.created_seconds = unix_seconds();
  header.seed = call.request.params.seed;
  auto wake = [weak = weak_from_this(), executor = socket_.get_executor()] {
    asio::post(executor, [weak] {
      if (auto self = weak.lock()) {
        auto run = self->handler(&http_session::on_events);
        run();
      }
    });
  };
  auto inbox = std::make_shared<stream_inbox>(host_.options.output_bytes_max,
                                              std::move(wake));
  completion_meter meter{host_.counts, steady::now()};
  auto handle = host_.service.start(std::move(call.request), inbox);
  if (!handle) {
    inbox->close();
    meter.ended_early("refused");
    reply_error(to_api_error(handle.error()));
    return;
  }
  completion_.emplace(completion{
    std::move(inbox), completion_answer{std::move(header), call.how, framing_},
    meter, *handle});
  // The client may have left while the request was read.
  if (input_ended_)
    close();
}

void http_session::on_events() {
  if (!completion_)
    return;
  auto [events, overflowed] = completion_->inbox->take();
  for (auto& x : events)
    if (completion_)
      on_event(std::move(x));
  // A reader slower than its tokens costs memory until it is cut off.
  bool slow = pending_.size() + in_flight_.size() - written_ >
              host_.options.output_bytes_max;
  if (completion_ && (overflowed || slow))
    close();
}

void http_session::on_event(completion_event x) {
  auto& [inbox, answer, meter, handle] = *completion_;
  if (auto* piece = std::get_if<completion_piece>(&x)) {
    meter.tokens(piece->ids.size(), steady::now());
    send(answer.piece(std::move(*piece)));
    return;
  }
  std::string bytes;
  if (auto* end = std::get_if<completion_end>(&x)) {
    meter.finished(*end);
    bytes = answer.done(*end);
  } else {
    meter.ended_early("error");
    bytes = answer.failed(std::get<error>(x));
  }
  auto status = answer.status();
  inbox->close();
  completion_.reset();
  complete(std::move(bytes), status);
}

} // namespace troupe
