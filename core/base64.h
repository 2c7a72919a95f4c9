// Base64 (RFC 4648, with padding): bytes that are no text, inside JSON.
//
// Pure function.
#pragma once

#include <string>
#include <string_view>

namespace forkpoint::core {

std::string to_base64(std::string_view bytes);

}  // namespace forkpoint::core
