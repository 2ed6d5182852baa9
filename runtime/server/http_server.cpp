#include "runtime/server/http_server.hpp"

#include "runtime/server/http_session.hpp"
#include "runtime/server/listen_address.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// Connections beyond the bound that are told so; further ones are just closed.
constexpr size_t refusals_max = 32;

/// Pause after accept failed, e.g. for want of file descriptors.
constexpr std::chrono::milliseconds accept_pause{50};

/// Sockets must not reach the node processes the head starts.
template <class Socket>
void close_on_exec(Socket& x) {
  auto fd = x.native_handle();
  auto flags = ::fcntl(fd, F_GETFD);
  if (flags >= 0)
    ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

/// The mixing function of splitmix64: distinct inputs, distinct outputs.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::string shown(const tcp::endpoint& x) {
  auto host = x.address().to_string();
  return x.address().is_v6() ? fmt::format("[{}]:{}", host, x.port())
                             : fmt::format("{}:{}", host, x.port());
}

} // namespace

class http_server::implementation final : public session_host {
public:
  implementation(const http_options& how, completion_service& engine,
                 metrics& numbers)
    : session_host(how, engine, numbers) {
    std::random_device entropy;
    secret_ = (uint64_t{entropy()} << 32) | entropy();
  }

  result<void> listen(const asio::ip::address& address) {
    tcp::endpoint wanted{address, options.port};
    error_code problem;
    acceptor_.open(wanted.protocol(), problem);
    if (!problem)
      acceptor_.set_option(tcp::acceptor::reuse_address(true), problem);
    if (!problem)
      acceptor_.bind(wanted, problem);
    if (!problem)
      acceptor_.listen(asio::socket_base::max_listen_connections, problem);
    if (problem)
      return fail(ec::io,
                  "cannot listen on {}: {}. If another server runs there, "
                  "choose another port (0: any free one)",
                  shown(wanted), problem.message());
    close_on_exec(acceptor_);
    endpoint_ = acceptor_.local_endpoint();
    accept();
    start_thread();
    return {};
  }

  void session_closed(http_session& session) override {
    sessions_.erase(&session);
    show_connections();
    if (draining && sessions_.empty())
      loop_.stop();
  }

  uint64_t next_random() override {
    return mixed(secret_ += 0x9e3779b97f4a7c15u);
  }

  void begin_drain(std::chrono::milliseconds deadline) {
    asio::post(loop_, [this, deadline] {
      if (std::exchange(draining, true))
        return;
      stop_accepting();
      for (const auto& x : all_sessions())
        x->begin_drain();
      if (sessions_.empty()) {
        loop_.stop();
        return;
      }
      timer_.expires_after(deadline);
      timer_.async_wait([this](error_code x) {
        if (!x)
          shut_down();
      });
    });
  }

  void stop() {
    asio::post(loop_, [this] { shut_down(); });
  }

  bool wait(std::chrono::milliseconds timeout) {
    std::unique_lock guard{mutex_};
    return ended_changed_.wait_for(guard, timeout, [this] { return ended_; });
  }

  void join() {
    if (thread_.joinable())
      thread_.join();
  }

  const tcp::endpoint& endpoint() const {
    return endpoint_;
  }

private:
  /// Signals are for the command's own thread: the new one inherits a mask
  /// that blocks them.
  void start_thread() {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread{[this] { run(); }};
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() {
    loop_.run();
    std::lock_guard guard{mutex_};
    ended_ = true;
    ended_changed_.notify_all();
  }

  void accept() {
    acceptor_.async_accept([this](error_code problem, tcp::socket socket) {
      if (!acceptor_.is_open())
        return;
      if (!problem) {
        welcome(std::move(socket));
        accept();
        return;
      }
      pause_.expires_after(accept_pause);
      pause_.async_wait([this](error_code x) {
        if (!x && acceptor_.is_open())
          accept();
      });
    });
  }

  void welcome(tcp::socket socket) {
    if (sessions_.size() >= options.connections_max + refusals_max)
      return;
    error_code ignored;
    close_on_exec(socket);
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::send_buffer_size(
                        static_cast<int>(options.send_buffer_bytes)),
                      ignored);
    auto session = std::make_shared<http_session>(std::move(socket), *this);
    bool full = sessions_.size() >= options.connections_max;
    sessions_.emplace(session.get(), session);
    show_connections();
    if (full)
      session->refuse();
    else
      session->start();
  }

  void show_connections() {
    counts.at(metric::http_connections)
      .set(static_cast<double>(sessions_.size()));
  }

  /// A copy: sessions leave the table when they close.
  std::vector<std::shared_ptr<http_session>> all_sessions() const {
    std::vector<std::shared_ptr<http_session>> result;
    for (const auto& [key, session] : sessions_)
      result.push_back(session);
    return result;
  }

  void stop_accepting() {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  }

  void shut_down() {
    draining = true;
    stop_accepting();
    for (const auto& x : all_sessions())
      x->close();
    loop_.stop();
  }

  asio::io_context loop_{1};
  tcp::acceptor acceptor_{loop_};
  tcp::endpoint endpoint_;
  asio::steady_timer pause_{loop_}; ///< After a failed accept.
  asio::steady_timer timer_{loop_}; ///< The deadline of a drain.
  std::unordered_map<http_session*, std::shared_ptr<http_session>> sessions_;
  uint64_t secret_ = 0;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable ended_changed_;
  bool ended_ = false;
};

result<std::unique_ptr<http_server>>
http_server::start(const http_options& options, completion_service& service,
                   metrics& counts) {
  auto host = checked_address(options.address, options.scope);
  if (!host)
    return tl::unexpected(std::move(host.error()));
  auto address = asio::ip::make_address(*host);
  auto impl = std::make_unique<implementation>(options, service, counts);
  if (auto listening = impl->listen(address); !listening)
    return tl::unexpected(std::move(listening.error()));
  return std::unique_ptr<http_server>{new http_server{std::move(impl)}};
}

http_server::http_server(std::unique_ptr<implementation> impl)
  : impl_(std::move(impl)) {
  // nop
}

http_server::~http_server() {
  impl_->stop();
  impl_->join();
}

uint16_t http_server::port() const {
  return impl_->endpoint().port();
}

std::string http_server::url() const {
  return fmt::format("http://{}", shown(impl_->endpoint()));
}

void http_server::drain(std::chrono::milliseconds deadline) {
  impl_->begin_drain(deadline);
}

void http_server::stop() {
  impl_->stop();
}

bool http_server::wait(std::chrono::milliseconds timeout) {
  return impl_->wait(timeout);
}

} // namespace troupe
