// HttpClient and HttpServer against each other over loopback, and each against a peer that breaks the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/http_client.h"
#include "core/http_server.h"
#include "core/log.h"
#include "core/sse.h"
#include "core/unique_fd.h"

namespace forkpoint::core {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Request = HttpServer::Request;
using Response = HttpServer::Response;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Reads until the other side closes.
std::string read_all(int fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<std::size_t>(count));
  return all;
}

// A server that reads what it is sent up to the empty line, answers with fixed bytes, and closes.
class RawServer {
 public:
  explicit RawServer(std::string answer) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answer = std::move(answer)] {
      const UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::string request;
      char c = 0;
      while (!request.ends_with("\r\n\r\n") && ::read(peer.get(), &c, 1) == 1) request += c;
      EXPECT_EQ(::write(peer.get(), answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    });
  }
  ~RawServer() { thread_.join(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

 private:
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

class Http : public testing::Test {
 protected:
  void start(std::vector<HttpServer::Route> routes, HttpServer::Options options = {}) {
    server_ = HttpServer::start(options, std::move(routes)).value();
  }
  void TearDown() override { configure_log({}); }

  std::string url(const std::string& target) const {
    return "http://127.0.0.1:" + std::to_string(server_->port()) + target;
  }
  Result<HttpClient::Response> get(const std::string& target) { return client_.send({.url = url(target)}); }

  // What the server answers to these bytes.
  std::string send_raw(const std::string& bytes) const {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(server_->port());
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(::shutdown(socket.get(), SHUT_WR), 0);
    return read_all(socket.get());
  }

  std::unique_ptr<HttpServer> server_;
  HttpClient client_;
};

Response text(std::string body) { return {.body = std::move(body)}; }

TEST_F(Http, CarriesMethodPathQueryHeadersAndBody) {
  Request seen;
  start({{"PUT", "/things/*", [&](const Request& request) {
            seen = request;
            return Response{.status = 201,
                            .content_type = "application/json",
                            .headers = {{"X-Kind", "new"}},
                            .body = "{}"};
          }}});
  const auto response = client_.send({.method = "PUT",
                                      .url = url("/things/a%20b?x=1&y=%26"),
                                      .headers = {{"X-Color", "green"}},
                                      .body = std::string("\0\xff body", 7)});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "{}");
  EXPECT_EQ(response->headers.find("content-type"), "application/json");
  EXPECT_EQ(response->headers.find("x-kind"), "new");
  EXPECT_EQ(response->headers.find("x-none"), std::nullopt);
  EXPECT_EQ(seen.method, "PUT");
  EXPECT_EQ(seen.path, "/things/a b");
  EXPECT_EQ(seen.query, (QueryParameters{{"x", "1"}, {"y", "&"}}));
  EXPECT_EQ(seen.headers.find("X-COLOR"), "green");
  EXPECT_EQ(seen.body, std::string("\0\xff body", 7));
}

TEST_F(Http, CarriesLargeBodiesBothWays) {
  start({{"POST", "/echo", [](const Request& request) { return text(request.body); }}});
  std::string body(8'000'000, ' ');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 % 256);
  const auto response = client_.send({.method = "POST", .url = url("/echo"), .body = body});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->body, body);
}

TEST_F(Http, StreamsPieceByPiece) {
  std::latch first_arrived(1);
  start({{"GET", "/events", [&](const Request&) {
            return Response{.content_type = "text/event-stream", .stream = [&](HttpServer::Sink& sink) {
                              EXPECT_TRUE(sink.write(to_stream({.data = "one"})));
                              EXPECT_TRUE(sink.write(""));
                              first_arrived.wait();  // nothing more until the client has read the first
                              EXPECT_TRUE(sink.write(to_stream({.data = "two"})));
                            }};
          }}});
  SseParser parser;
  std::vector<SseEvent> events;
  const auto response = client_.send({.url = url("/events")}, [&](std::string_view piece) {
    for (const SseEvent& event : parser.push(piece)) {
      events.push_back(event);
      if (events.size() == 1) first_arrived.count_down();
    }
    return true;
  });
  ASSERT_TRUE(response.has_value()) << response.error().to_line();
  EXPECT_EQ(events, (std::vector<SseEvent>{{.data = "one"}, {.data = "two"}}));
  EXPECT_TRUE(get("/missing").has_value()) << "the connection is as good as before";
}

TEST_F(Http, EndsAStream_WhenTheClientGoes) {
  std::promise<void> noticed;
  start({{"GET", "/endless", [&](const Request&) {
            return Response{.stream = [&](HttpServer::Sink& sink) {
              while (sink.write(std::string(100'000, 'x'))) {
              }
              EXPECT_FALSE(sink.write("more"));
              noticed.set_value();
            }};
          }}});
  const auto response = client_.send({.url = url("/endless")}, [](std::string_view) { return false; });
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, "http_cancelled");
  noticed.get_future().wait();
}

TEST_F(Http, KeepsAConnectionForManyRequests) {
  start({{"GET", "/", [](const Request&) { return text("ok"); }}}, {.connections_max = 1});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get("/").value().body, "ok");
}

TEST_F(Http, LetsAConnectionBeyondTheMaximumWait_UntilOneEnds) {
  start({{"GET", "/", [](const Request&) { return text("ok"); }}}, {.connections_max = 1});
  auto first = std::make_unique<HttpClient>();
  EXPECT_EQ(first->send({.url = url("/")}).value().body, "ok");
  auto second = std::async(std::launch::async, [&] { return get("/"); });
  first.reset();  // closes its connection; nothing else would let the second in
  EXPECT_EQ(second.get().value().body, "ok");
}

TEST_F(Http, ServesManyClientsAtOnce) {
  std::latch all_here(8);
  start({{"GET", "/meet", [&](const Request&) {
            all_here.arrive_and_wait();
            return text("met");
          }}});
  std::vector<std::thread> threads;
  std::atomic<int> met = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { met += get("/meet").value().body == "met" ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(met, 8);
}

TEST_F(Http, AnswersWithTheStatusOfWhatIsWrong) {
  start(
      {{"GET", "/known", [](const Request&) { return text("ok"); }},
       {"GET", "/broken", [](const Request&) -> Response { throw std::runtime_error("the secret reason"); }}},
      {.header_bytes_max = 4096, .body_bytes_max = 1000});
  configure_log({.level = LogLevel::off});
  EXPECT_EQ(get("/unknown").value().status, 404);
  EXPECT_EQ(client_.send({.method = "DELETE", .url = url("/known")}).value().status, 405);
  const auto broken = get("/broken").value();
  EXPECT_EQ(broken.status, 500);
  EXPECT_THAT(broken.body, Not(HasSubstr("secret")));
  EXPECT_EQ(
      client_.send({.method = "POST", .url = url("/known"), .body = std::string(1000, 'x')}).value().status,
      405);
  EXPECT_EQ(
      client_.send({.method = "POST", .url = url("/known"), .body = std::string(1001, 'x')}).value().status,
      413);
  EXPECT_EQ(
      client_.send({.url = url("/known"), .headers = {{"X-Long", std::string(5000, 'x')}}}).value().status,
      431);
  EXPECT_THAT(send_raw("NONSENSE\r\n\r\n"), testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(send_raw("GET known HTTP/1.1\r\n\r\n"), testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_EQ(send_raw("GET /known HT"), "") << "half a request deserves no answer";
}

TEST_F(Http, GivesLeaveToSendALargeBody_WhenAClientAsks) {
  start({{"POST", "/echo", [](const Request& request) { return text(request.body); }}});
  const std::string answer = send_raw(
      "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 100 Continue\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nhi"));
}

TEST_F(Http, StreamsWithoutChunksToAnOldClient) {
  start({{"GET", "/", [](const Request&) {
            return Response{.stream = [](HttpServer::Sink& sink) { sink.write("body"); }};
          }}});
  const std::string answer = send_raw("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nbody"));
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
}

TEST_F(Http, ClosesAConnectionThatSaysNothing) {
  start({}, {.idle_timeout = 20ms});
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(server_->port());
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(read_all(socket.get()), "");  // returns when the server closes
}

TEST_F(Http, StopsWhileAClientStreams) {
  std::latch streaming(1);
  start({{"GET", "/endless", [&](const Request&) {
            return Response{.stream = [&](HttpServer::Sink& sink) {
              while (sink.write(std::string(1000, 'x'))) {
              }
            }};
          }}});
  std::future<Result<HttpClient::Response>> response = std::async(std::launch::async, [&] {
    return client_.send({.url = url("/endless")}, [&, counted = false](std::string_view) mutable {
      if (!std::exchange(counted, true)) streaming.count_down();
      return true;
    });
  });
  streaming.wait();
  server_->stop();
  const Result<HttpClient::Response> result = response.get();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, "http_closed");
  EXPECT_EQ(result.error().fault, Fault::transient);
}

TEST_F(Http, SaysWhereItCantListen) {
  start({});
  const auto second = HttpServer::start({.port = server_->port()}, {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().fault, Fault::host);
  EXPECT_THAT(second.error().message,
              HasSubstr("127.0.0.1:" + std::to_string(server_->port()) + ": can't listen"));
  EXPECT_EQ(HttpServer::start({.address = "no address"}, {}).error().code, "cannot_listen");
}

TEST_F(Http, TimesOut_WhenTheServerDoesNotAnswer) {
  std::latch release(1);
  start({{"GET", "/slow", [&](const Request&) {
            release.wait();
            return text("late");
          }}});
  const auto response = client_.send({.url = url("/slow"), .total_timeout = 30ms});
  release.count_down();
  server_.reset();  // the handler may begin only now, and must not outlive the latch
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, "http_timeout");
  EXPECT_EQ(response.error().fault, Fault::transient);
  EXPECT_THAT(response.error().message, testing::StartsWith("GET http://127.0.0.1:"));
}

TEST_F(Http, IsNotConnected_WhenNobodyListens) {
  start({});
  const std::string dead = url("/");
  server_.reset();
  const auto response = client_.send({.url = dead});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, "http_connect");
  EXPECT_EQ(response.error().fault, Fault::transient);
}

TEST_F(Http, ReadsNoMoreThanItsLimit) {
  start({{"GET", "/", [](const Request&) { return text(std::string(1000, 'x')); }}});
  EXPECT_TRUE(client_.send({.url = url("/"), .response_bytes_max = 1000}).has_value());
  const auto response = client_.send({.url = url("/"), .response_bytes_max = 999});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, "http_too_large");
  EXPECT_EQ(response.error().fault, Fault::work);
}

TEST_F(Http, DoesNotTakeHalfABodyForAWholeOne) {
  RawServer server("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  EXPECT_EQ(client_.send({.url = server.url()}).error().code, "http_closed");
  RawServer chunked("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
  EXPECT_EQ(client_.send({.url = chunked.url()}).error().code, "http_closed");
  RawServer nothing("");
  EXPECT_EQ(client_.send({.url = nothing.url()}).error().code, "http_closed");
}

TEST_F(Http, DoesNotFollowARedirect) {
  RawServer server("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client_.send({.url = server.url()}).value().status, 302);
}

TEST_F(Http, RefusesWhatIsNoUrl) {
  EXPECT_EQ(client_.send({.url = "file:///etc/hostname"}).error().code, "http_bad_url");
}

TEST_F(Http, DoesNotSendLoopbackAddressesToAProxy) {
  start({{"GET", "/", [](const Request&) { return text("direct"); }}});
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  const auto response = get("/");
  ::unsetenv("http_proxy");
  EXPECT_EQ(response.value().body, "direct");
}

}  // namespace
}  // namespace forkpoint::core
