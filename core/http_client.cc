#include "core/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <mutex>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/url.h"

namespace forkpoint::core {
namespace {

struct CurlCleanup {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, CurlCleanup>;
using HeaderList = std::unique_ptr<curl_slist, CurlCleanup>;

// One request under way: what libcurl's callbacks need.
struct Transfer {
  const HttpClient::Request& request;
  const HttpClient::BodyReader& read_body;
  HttpClient::Response response = {};
  std::uint64_t bytes = 0;
  bool too_large = false;
  bool cancelled = false;
};

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.bytes += size;
  transfer.too_large = transfer.bytes > transfer.request.response_bytes_max;
  transfer.cancelled = !transfer.too_large && !transfer.read_body(std::string_view(data, size));
  return transfer.too_large || transfer.cancelled ? 0 : size;
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& headers = static_cast<Transfer*>(user)->response.headers;
  std::string_view line(data, size);
  if (line.starts_with("HTTP/")) headers = {};  // a 100 Continue may have come before
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  const std::size_t first = line.find_first_not_of(" \t", colon + 1);
  const std::size_t last = line.find_last_not_of(" \t\r\n");
  const bool has_value = first != std::string_view::npos && first <= last;
  headers.add(std::string(line.substr(0, colon)),
              has_value ? std::string(line.substr(first, last + 1 - first)) : "");
  return size;
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  FORKPOINT_CHECK(curl_easy_setopt(handle, option, value) == CURLE_OK, "libcurl refuses an option");
}

void set_up(CURL* handle, Transfer& transfer, const Url& url, curl_slist* headers) {
  const HttpClient::Request& request = transfer.request;
  curl_easy_reset(handle);  // keeps connections
  set(handle, CURLOPT_URL, request.url.c_str());
  set(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.body.empty()) {
    set(handle, CURLOPT_POSTFIELDS, request.body.data());
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  set(handle, CURLOPT_HTTPHEADER, headers);
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.total_timeout.count()));
  set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.idle_timeout.count()));
  set(handle, CURLOPT_NOSIGNAL, 1L);
  if (url.is_loopback()) set(handle, CURLOPT_PROXY, "");
  set(handle, CURLOPT_WRITEFUNCTION, on_body);
  set(handle, CURLOPT_WRITEDATA, &transfer);
  set(handle, CURLOPT_HEADERFUNCTION, on_header);
  set(handle, CURLOPT_HEADERDATA, &transfer);
}

// "http_timeout", transient, and so on, for what libcurl says of a failed transfer.
std::pair<std::string, Fault> classify(CURLcode code, const Transfer& transfer) {
  if (transfer.too_large) return {"http_too_large", Fault::work};
  if (transfer.cancelled) return {"http_cancelled", Fault::work};
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT: return {"http_connect", Fault::transient};
    case CURLE_OPERATION_TIMEDOUT: return {"http_timeout", Fault::transient};
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR: return {"http_closed", Fault::transient};
    default: return {"http_failed", Fault::work};
  }
}

Error failure(CURLcode code, const Transfer& transfer) {
  const auto [name, fault] = classify(code, transfer);
  std::string reason = curl_easy_strerror(code);
  if (transfer.too_large) reason = fmt::format("more than {} bytes", transfer.request.response_bytes_max);
  if (transfer.cancelled) reason = "cancelled";
  return Error{.boundary = Boundary::system,
               .fault = fault,
               .code = name,
               .message = fmt::format("{} {}: {}", transfer.request.method, transfer.request.url, reason)};
}

}  // namespace

// Idle handles, each with the connections it has open.
struct HttpClient::State {
  std::mutex mutex;
  std::vector<Handle> idle;

  Handle take() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return Handle(curl_easy_init());
    Handle handle = std::move(idle.back());
    idle.pop_back();
    return handle;
  }
  void give_back(Handle handle) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(handle));
  }
};

HttpClient::HttpClient() : state_(std::make_unique<State>()) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  FORKPOINT_CHECK(initialized == CURLE_OK, "libcurl can't be initialized");
}

HttpClient::~HttpClient() = default;

Result<HttpClient::Response> HttpClient::send(const Request& request) {
  std::string body;
  Result<Response> response = send(request, [&](std::string_view piece) {
    body += piece;
    return true;
  });
  if (response) response->body = std::move(body);
  return response;
}

Result<HttpClient::Response> HttpClient::send(const Request& request, const BodyReader& read_body) {
  FORKPOINT_ASSIGN_OR_RETURN(const Url url, parse_url(request.url));
  // Without this libcurl asks the server's leave before a large body and waits a second for the answer.
  HeaderList headers(curl_slist_append(nullptr, "Expect:"));
  for (const auto& [name, value] : request.headers.all()) {
    headers.reset(curl_slist_append(headers.release(), fmt::format("{}: {}", name, value).c_str()));
  }
  Handle handle = state_->take();
  FORKPOINT_CHECK(handle != nullptr, "libcurl has no handle");
  Transfer transfer{.request = request, .read_body = read_body};
  set_up(handle.get(), transfer, url, headers.get());
  const CURLcode code = curl_easy_perform(handle.get());
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  state_->give_back(std::move(handle));
  if (code != CURLE_OK) return failure(code, transfer);
  transfer.response.status = static_cast<int>(status);
  return std::move(transfer.response);
}

}  // namespace forkpoint::core
