#include "core/http_headers.h"

#include <algorithm>

namespace forkpoint::core {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::optional<std::string> HttpHeaders::find(std::string_view name) const {
  const auto same_name = [&](const Field& field) {
    return std::equal(field.first.begin(), field.first.end(), name.begin(), name.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
  };
  const auto found = std::find_if(fields_.begin(), fields_.end(), same_name);
  if (found == fields_.end()) return std::nullopt;
  return found->second;
}

}  // namespace forkpoint::core
