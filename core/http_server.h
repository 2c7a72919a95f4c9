// HttpServer: a small embedded server for viewers and APIs; over Boost.Beast.
//
//   std::vector<HttpServer::Route> routes = {{"GET", "/health", [](const auto&) { return
//   HttpServer::Response{.body = "ok"}; }}}; FORKPOINT_ASSIGN_OR_RETURN(auto server, HttpServer::start({.port
//   = 8080}, std::move(routes)));
//
// Each connection has a thread of its own and plain blocking handlers; handlers of different connections run
// at the same time. It speaks HTTP/1.1 with keep-alive and no TLS: put a proxy in front of it where that is
// wanted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/http_headers.h"
#include "core/result.h"
#include "core/url.h"

namespace forkpoint::core {

class HttpServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";                       // an IP address; loopback unless asked otherwise
    std::uint16_t port = 0;                                  // 0: any free one, see port()
    std::size_t connections_max = 64;                        // more wait in the system's queue until one ends
    std::uint32_t header_bytes_max = 64 << 10;               // 431 beyond
    std::uint64_t body_bytes_max = std::uint64_t{64} << 20;  // 413 beyond
    std::chrono::milliseconds idle_timeout{60'000};          // for each read and each write
  };

  struct Request {
    std::string method;
    std::string path;  // percent-decoded
    QueryParameters query;
    HttpHeaders headers;
    std::string body;
  };

  // Where a streamed body goes.
  class Sink {
   public:
    virtual ~Sink() = default;
    // Sends a piece now; false when the client has gone or the server stops: then there is no point in going
    // on.
    virtual bool write(std::string_view piece) = 0;
  };

  struct Response {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    HttpHeaders headers = {};
    std::string body = {};
    std::function<void(Sink&)> stream = {};  // writes the body instead of `body`, when set
  };

  // An exception that leaves a handler becomes a 500 whose text says nothing of it; it goes to the log.
  using Handler = std::function<Response(const Request&)>;

  struct Route {
    std::string method;
    std::string path;  // exact, or everything below: "/runs/*"
    Handler handler;
  };

  // Listens and serves until stop(). The first route that fits is taken; a path without any is 404, a method
  // without one 405. Error: `cannot_listen` (Fault::host), naming address and port.
  static Result<std::unique_ptr<HttpServer>> start(const Options& options, std::vector<Route> routes);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();  // stops

  std::uint16_t port() const;

  // Closes all connections and waits for their handlers to return. May be called from any thread but a
  // handler's.
  void stop();

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace forkpoint::core
