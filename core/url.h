// Url: an http or https address in parts, decoded. Parsing is libcurl's, the same that later connects.
//
// Plain value; pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace forkpoint::core {

using QueryParameters = std::vector<std::pair<std::string, std::string>>;

struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // without brackets around an IPv6 address
  int port = 0;        // the scheme's own where none is written
  std::string path;    // percent-decoded, begins with '/'
  QueryParameters query;

  // Whether the host is this machine by definition: localhost, 127.0.0.0/8, ::1.
  bool is_loopback() const;
};

// Error: `http_bad_url` (Fault::input), for anything that is no http or https URL.
Result<Url> parse_url(const std::string& text);

}  // namespace forkpoint::core
