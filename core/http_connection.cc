#include "core/http_connection.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace forkpoint::core {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

template <class Message>
void set_fields(Message& message, const HttpServer::Response& response, bool keep_alive) {
  message.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers.all()) message.insert(name, value);
  message.keep_alive(keep_alive);
}

// The status that tells a client which rule its request broke; nothing for one that is simply gone.
std::optional<int> status_of(const boost::system::error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  const bool gone = error == http::error::end_of_stream || error == http::error::partial_message ||
                    error == beast::error::timeout ||
                    error.category() != http::make_error_code(http::error{}).category();
  if (gone) return std::nullopt;
  return 400;
}

}  // namespace

HttpServer::Response error_response(int status) {
  return {.status = status,
          .body = fmt::format("{}\n", std::string(http::obsolete_reason(static_cast<http::status>(status))))};
}

// Sends each piece as a chunk; to a client of HTTP/1.0, which knows no chunks, as it is.
class HttpConnection::ChunkSink final : public HttpServer::Sink {
 public:
  ChunkSink(HttpConnection& connection, bool chunked) : connection_(connection), chunked_(chunked) {}

  bool write(std::string_view piece) override {
    if (failed_ || piece.empty()) return !failed_;  // an empty chunk would end the body
    failed_ = chunked_ ? send(http::make_chunk(asio::buffer(piece))) : send(asio::buffer(piece));
    return !failed_;
  }

  bool finish() {
    if (chunked_ && !failed_) failed_ = send(http::make_chunk_last());
    return !failed_;
  }

 private:
  template <class Buffers>
  bool send(const Buffers& buffers) {
    return static_cast<bool>(connection_.await(
        [&](auto handler) { asio::async_write(connection_.stream_, buffers, std::move(handler)); }));
  }

  HttpConnection& connection_;
  const bool chunked_;
  bool failed_ = false;
};

HttpConnection::HttpConnection(asio::io_context& context, asio::ip::tcp::socket socket,
                               const HttpServer::Options& options)
    : context_(context), stream_(std::move(socket)), options_(options) {}

template <class Operation>
boost::system::error_code HttpConnection::await(Operation operation) {
  boost::system::error_code result;
  stream_.expires_after(options_.idle_timeout);
  operation([&result](boost::system::error_code error, std::size_t) { result = error; });
  context_.restart();
  context_.run();
  return result;
}

void HttpConnection::serve(const Answer& answer) {
  bool keep_alive = true;
  while (keep_alive) {
    HttpServer::Request request;
    if (!read_request(request, keep_alive)) return;
    const HttpServer::Response response = answer(request);
    if (!(response.stream ? write_stream(response, keep_alive) : write_response(response, keep_alive)))
      return;
  }
}

void HttpConnection::refuse(int status) {
  if (write_response(error_response(status), false)) close_gently();
}

// Closing a socket with unread bytes in it makes the system send a reset, which can overtake the answer that
// explains why. So the client is told first that we have ended, and what it still sends is read and dropped,
// within bounds.
void HttpConnection::close_gently() {
  constexpr std::size_t kDroppedBytesMax = std::size_t{16} << 20;
  boost::system::error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  std::string dropped(std::size_t{64} << 10, '\0');
  for (std::size_t bytes = 0; bytes < kDroppedBytesMax; bytes += dropped.size()) {
    if (await([&](auto handler) { stream_.async_read_some(asio::buffer(dropped), std::move(handler)); }))
      return;
  }
}

bool HttpConnection::read_request(HttpServer::Request& request, bool& keep_alive) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(options_.header_bytes_max);
  parser.body_limit(options_.body_bytes_max);
  const auto failed = [&](const boost::system::error_code& error) {
    if (const std::optional<int> status = status_of(error)) refuse(*status);
    return false;
  };
  if (const auto error = await(
          [&](auto handler) { http::async_read_header(stream_, buffer_, parser, std::move(handler)); })) {
    return failed(error);
  }
  version_ = parser.get().version();
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, version_);
    if (await([&](auto handler) { http::async_write(stream_, go_on, std::move(handler)); })) return false;
  }
  if (const auto error =
          await([&](auto handler) { http::async_read(stream_, buffer_, parser, std::move(handler)); })) {
    return failed(error);
  }

  auto& message = parser.get();
  // A target is a path; the parts of a URL that are not in it are of no interest.
  const Result<Url> url = parse_url("http://localhost" + std::string(message.target()));
  if (!url || !message.target().starts_with('/')) {
    refuse(400);
    return false;
  }
  keep_alive = message.keep_alive();
  request.method = message.method_string();
  request.path = url->path;
  request.query = url->query;
  for (const auto& field : message) {
    request.headers.add(std::string(field.name_string()), std::string(field.value()));
  }
  request.body = std::move(message.body());
  return true;
}

bool HttpConnection::write_response(const HttpServer::Response& response, bool keep_alive) {
  http::response<http::string_body> message(static_cast<http::status>(response.status), version_);
  set_fields(message, response, keep_alive);
  message.body() = response.body;
  message.prepare_payload();
  return !await([&](auto handler) { http::async_write(stream_, message, std::move(handler)); });
}

bool HttpConnection::write_stream(const HttpServer::Response& response, bool keep_alive) {
  const bool chunked = version_ >= 11;
  http::response<http::empty_body> message(static_cast<http::status>(response.status), version_);
  set_fields(message, response, keep_alive && chunked);
  message.chunked(chunked);
  http::response_serializer<http::empty_body> serializer(message);
  if (await([&](auto handler) { http::async_write_header(stream_, serializer, std::move(handler)); }))
    return false;
  ChunkSink sink(*this, chunked);
  response.stream(sink);
  return sink.finish() && chunked;
}

}  // namespace forkpoint::core
