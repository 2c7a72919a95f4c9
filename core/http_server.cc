#include "core/http_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/asio.h"
#include "core/http_connection.h"
#include "core/log.h"

namespace forkpoint::core {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

bool fits(const std::string& pattern, const std::string& path) {
  if (!pattern.ends_with('*')) return path == pattern;
  return path.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

HttpServer::Response answer(const std::vector<HttpServer::Route>& routes,
                            const HttpServer::Request& request) {
  bool path_is_known = false;
  for (const HttpServer::Route& route : routes) {
    if (!fits(route.path, request.path)) continue;
    path_is_known = true;
    if (route.method != request.method) continue;
    try {
      return route.handler(request);
    } catch (const std::exception& exception) {
      log_error("{} {}: {}", request.method, request.path, exception.what());
      return error_response(500);
    }
  }
  return error_response(path_is_known ? 405 : 404);
}

}  // namespace

struct HttpServer::State {
  State(Options server_options, std::vector<Route> server_routes)
      : options(std::move(server_options)), routes(std::move(server_routes)) {}

  Result<void> listen();
  void accept_connections();
  void serve(tcp::socket socket, std::unique_ptr<asio::io_context> context);
  void stop();

  const Options options;
  const std::vector<Route> routes;
  asio::io_context accept_context;
  tcp::acceptor acceptor{accept_context};
  std::thread accept_thread;

  std::mutex mutex;
  std::condition_variable changed;
  std::set<int> sockets;  // of the connections being served
  bool stopping = false;
};

Result<void> HttpServer::State::listen() {
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(options.address, error);
  const tcp::endpoint endpoint(address, options.port);
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  return Error{
      .boundary = Boundary::system,
      .fault = Fault::host,
      .code = "cannot_listen",
      .message = fmt::format("{}:{}: can't listen: {}", options.address, options.port, error.message()),
      .advice = "choose another address or port"};
}

void HttpServer::State::accept_connections() {
  while (true) {
    auto context = std::make_unique<asio::io_context>(1);
    tcp::socket socket(*context);
    boost::system::error_code error;
    acceptor.accept(socket, error);
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return stopping || sockets.size() < options.connections_max; });
    if (stopping) return;
    if (error) {
      // The client left at once, or we are out of descriptors: then the next attempts fail too, for a while.
      log_warning("a connection can't be accepted: {}", error.message());
      changed.wait_for(lock, std::chrono::milliseconds(100), [this] { return stopping; });
      continue;
    }
    sockets.insert(socket.native_handle());
    // Detached, but stop() waits for `sockets` to become empty.
    std::thread([this, socket = std::move(socket), context = std::move(context)]() mutable {
      serve(std::move(socket), std::move(context));
    }).detach();
  }
}

void HttpServer::State::serve(tcp::socket socket, std::unique_ptr<asio::io_context> context) {
  const int fd = socket.native_handle();
  {
    HttpConnection connection(*context, std::move(socket), options);
    try {
      connection.serve([this](const Request& request) { return answer(routes, request); });
    } catch (
        const std::exception& exception) {  // a streaming handler's: the client sees the connection break off
      log_error("a connection broke off: {}", exception.what());
    }
    // Out of the set before it is closed: stop() must not shut another's new descriptor of the same number.
    const std::lock_guard lock(mutex);
    sockets.erase(fd);
    changed.notify_all();
  }
}

void HttpServer::State::stop() {
  std::unique_lock lock(mutex);
  if (!std::exchange(stopping, true)) {
    ::shutdown(acceptor.native_handle(), SHUT_RDWR);  // wakes the blocked accept
    for (const int fd : sockets) ::shutdown(fd, SHUT_RDWR);
    changed.notify_all();
  }
  changed.wait(lock, [this] { return sockets.empty(); });
  lock.unlock();
  if (accept_thread.joinable()) accept_thread.join();
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Options& options, std::vector<Route> routes) {
  auto state = std::make_unique<State>(options, std::move(routes));
  FORKPOINT_RETURN_IF_ERROR(state->listen());
  State* const serving = state.get();
  serving->accept_thread = std::thread([serving] { serving->accept_connections(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

std::uint16_t HttpServer::port() const { return state_->acceptor.local_endpoint().port(); }

void HttpServer::stop() { state_->stop(); }

}  // namespace forkpoint::core
