#include "tests/cluster/serve_process.hpp"

#include "tests/unit/runtime/server/http_client.hpp"

#include <fmt/format.h>
#include <sstream>
#include <stdexcept>

namespace troupe::testing {

namespace {

using json = nlohmann::json;

constexpr auto start_limit = std::chrono::seconds(30);

std::vector<std::string> command(std::vector<std::string> more,
                                 uint16_t actor_port) {
  std::vector<std::string> result{"serve",
                                  "--model",
                                  "models/demo",
                                  "--listen",
                                  "127.0.0.1:0",
                                  "--cluster-listen",
                                  fmt::format("127.0.0.1:{}", actor_port)};
  result.insert(result.end(), more.begin(), more.end());
  return result;
}

/// The number that follows `before` in `text`.
uint16_t port_after(const std::string& text, std::string_view before) {
  auto at = text.find(before);
  if (at == std::string::npos)
    throw std::runtime_error("no port in: " + text);
  return static_cast<uint16_t>(std::stoul(text.substr(at + before.size())));
}

void add_piece(completion_text& out, const json& event) {
  auto& choice = event.at("choices").at(0);
  out.text += choice.at("text").get<std::string>();
  if (auto& reason = choice.at("finish_reason"); reason.is_string())
    out.finish_reason = reason.get<std::string>();
  auto& more = event.at("troupe");
  if (more.contains("ids"))
    for (auto& id : more.at("ids"))
      out.ids.push_back(id.get<int32_t>());
  if (more.contains("pairs")) {
    out.remote_pairs = more.at("pairs").at("remote").get<uint64_t>();
    out.rerouted_pairs = more.at("pairs").at("rerouted").get<uint64_t>();
  }
}

} // namespace

std::ostream& operator<<(std::ostream& out, const completion_text& x) {
  return out << x.status << " " << x.finish_reason << " " << json(x.ids).dump()
             << " " << json(x.text).dump(-1, ' ', true);
}

serve_process::serve_process(std::vector<std::string> more, uint16_t actor_port)
  : process_(command(std::move(more), actor_port)) {
  if (!process_.wait_for_error_text("(nodes join at ", patient(start_limit)))
    throw std::runtime_error("serve does not serve: " + process_.err());
  // The line is written in one go.
  auto text = process_.err();
  http_port_ = port_after(text, "at http://127.0.0.1:");
  actor_port_ = port_after(text, "(nodes join at 127.0.0.1:");
}

std::string serve_process::url() const {
  return fmt::format("http://127.0.0.1:{}", http_port_);
}

std::string serve_process::get(const std::string& path,
                               unsigned expected_status) {
  http_client client{http_port_};
  client.request("GET", path);
  auto answer = client.answer();
  if (!answer || answer->status != expected_status)
    throw std::runtime_error(fmt::format(
      "GET {}: status {}, expected {}\n{}", path, answer ? answer->status : 0,
      expected_status, answer ? answer->body : process_.err()));
  return answer->body;
}

json serve_process::cluster() {
  return json::parse(get("/cluster"));
}

json serve_process::node(const std::string& name) {
  auto all = cluster();
  for (auto& x : all.at("nodes"))
    if (x.at("name") == name)
      return x;
  return nullptr;
}

bool serve_process::wait_for_node(const std::string& name,
                                  const std::string& state, wait_limit limit) {
  return process_.wait_until(
    [&] {
      auto x = node(name);
      return x.is_object() && x.at("state") == state;
    },
    patient(limit));
}

completion_text serve_process::complete(const json& body) {
  http_client client{http_port_};
  client.request("POST", "/v1/completions", body.dump(),
                 "Content-Type: application/json\r\n");
  completion_text result;
  auto answer = client.answer();
  if (!answer)
    return result;
  result.status = answer->status;
  if (answer->status == 200)
    add_piece(result, json::parse(answer->body));
  else
    result.text = answer->body;
  return result;
}

completion_text serve_process::stream(json body) {
  body["stream"] = true;
  http_client client{http_port_};
  client.request("POST", "/v1/completions", body.dump(),
                 "Content-Type: application/json\r\n");
  auto answer = client.answer();
  return answer ? from_stream(answer->status, answer->body) : completion_text{};
}

completion_text from_stream(unsigned status, const std::string& body) {
  constexpr std::string_view data = "data: ";
  completion_text result;
  result.status = status;
  std::istringstream lines{body};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("data: {"))
      add_piece(result, json::parse(line.substr(data.size())));
  if (body.find("data: [DONE]") == std::string::npos)
    result.finish_reason += " (no end)";
  return result;
}

} // namespace troupe::testing
