// HttpConnection: one client of an HttpServer, from its first request to its last. Implementation of
// http_server.cc, which owns the socket's registration; it runs on the connection's own thread.
#pragma once

#include <functional>

#include "core/asio.h"
#include "core/http_server.h"

namespace forkpoint::core {

// The answer whose text is the name of its status.
HttpServer::Response error_response(int status);

class HttpConnection {
 public:
  using Answer = std::function<HttpServer::Response(const HttpServer::Request&)>;

  // `context` is the connection's own; `socket` belongs to it. Keeps references to `context` and `options`.
  HttpConnection(boost::asio::io_context& context, boost::asio::ip::tcp::socket socket,
                 const HttpServer::Options& options);

  // Serves requests until the client closes, breaks the rules, or takes too long.
  void serve(const Answer& answer);

 private:
  class ChunkSink;

  bool read_request(HttpServer::Request& request, bool& keep_alive);
  // Answers a request that broke a rule, and closes.
  void refuse(int status);
  void close_gently();

  bool write_response(const HttpServer::Response& response, bool keep_alive);
  bool write_stream(const HttpServer::Response& response, bool keep_alive);

  // Runs one asynchronous operation to its end, within the idle time-out; false if it failed.
  template <class Operation>
  boost::system::error_code await(Operation operation);

  boost::asio::io_context& context_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  const HttpServer::Options& options_;
  unsigned version_ = 11;  // of the request being answered
};

}  // namespace forkpoint::core
