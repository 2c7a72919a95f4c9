// HttpClient: requests to servers, each with its limits; over libcurl.
//
//   HttpClient client;
//   Result<HttpClient::Response> response = client.send({.url = "http://127.0.0.1:8000/v1/models"});
//
// An answer of any status is a Response; an Error is the want of one. Error codes: `http_bad_url`
// (Fault::input); `http_connect`, `http_timeout`, `http_closed` (the answer broke off), all Fault::transient;
// `http_too_large`, `http_cancelled`, `http_failed` (Fault::work). Redirects are not followed. Loopback
// addresses are never sent to a proxy.
//
// Thread-safety: one client may be used by any number of threads; connections are kept and reused.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/http_headers.h"
#include "core/result.h"

namespace forkpoint::core {

class HttpClient {
 public:
  struct Request {
    std::string method = "GET";
    std::string url;
    HttpHeaders headers = {};
    std::string body = {};
    std::chrono::milliseconds connect_timeout{10'000};
    std::chrono::milliseconds total_timeout{120'000};  // from the start to the last byte
    std::chrono::seconds idle_timeout{60};             // without a byte in either direction
    std::uint64_t response_bytes_max = std::uint64_t{256} << 20;
  };

  struct Response {
    int status = 0;
    HttpHeaders headers;
    std::string body;  // empty when it was streamed
  };

  // Gets the body piece by piece, as it arrives; false ends the request with `http_cancelled`.
  using BodyReader = std::function<bool(std::string_view piece)>;

  HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  Result<Response> send(const Request& request);
  Result<Response> send(const Request& request, const BodyReader& read_body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forkpoint::core
