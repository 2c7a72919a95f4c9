#include "core/url.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

namespace forkpoint::core {
namespace {

struct CurlFree {
  void operator()(char* text) const { curl_free(text); }
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string part(CURLU* url, CURLUPart which, unsigned int flags = 0) {
  char* raw = nullptr;
  if (curl_url_get(url, which, &raw, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, CurlFree> text(raw);
  return text.get();
}

std::string decode(std::string text) {
  for (char& c : text) c = c == '+' ? ' ' : c;
  int length = 0;
  const std::unique_ptr<char, CurlFree> decoded(
      curl_easy_unescape(nullptr, text.c_str(), static_cast<int>(text.size()), &length));
  return decoded ? std::string(decoded.get(), static_cast<std::size_t>(length)) : "";
}

QueryParameters parse_query(const std::string& query) {
  QueryParameters parameters;
  for (std::size_t start = 0; start < query.size();) {
    const std::size_t end = std::min(query.find('&', start), query.size());
    const std::string pair = query.substr(start, end - start);
    const std::size_t equals = pair.find('=');
    if (!pair.empty()) {
      parameters.emplace_back(decode(pair.substr(0, equals)),
                              equals == std::string::npos ? "" : decode(pair.substr(equals + 1)));
    }
    start = end + 1;
  }
  return parameters;
}

}  // namespace

bool Url::is_loopback() const { return host == "localhost" || host == "::1" || host.starts_with("127."); }

Result<Url> parse_url(const std::string& text) {
  const std::unique_ptr<CURLU, CurlFree> parsed(curl_url());
  const bool has_nul = text.find('\0') != std::string::npos;
  const CURLUcode code =
      has_nul ? CURLUE_MALFORMED_INPUT
              : curl_url_set(parsed.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME);
  Url url;
  if (code == CURLUE_OK) url.scheme = part(parsed.get(), CURLUPART_SCHEME);
  if (url.scheme != "http" && url.scheme != "https") {
    return Error{.boundary = Boundary::system,
                 .fault = Fault::input,
                 .code = "http_bad_url",
                 .message = fmt::format("'{}' is no http or https URL", text)};
  }
  url.host = part(parsed.get(), CURLUPART_HOST);
  if (url.host.starts_with('[')) url.host = url.host.substr(1, url.host.size() - 2);
  url.port = std::stoi(part(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
  url.path = part(parsed.get(), CURLUPART_PATH, CURLU_URLDECODE);
  url.query = parse_query(part(parsed.get(), CURLUPART_QUERY));
  return url;
}

}  // namespace forkpoint::core
