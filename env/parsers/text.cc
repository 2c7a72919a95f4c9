#include "env/parsers/text.h"

#include <algorithm>

namespace forkpoint::env {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\v\f";

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::size_t skip_blank(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

std::optional<Line> line_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return std::nullopt;
  const std::size_t end = std::min(text.find('\n', at), text.size());
  return Line{.begin = at, .end = end, .next = std::min(end + 1, text.size())};
}

std::optional<std::size_t> answer_begin(std::string_view text) {
  if (!text.substr(skip_blank(text, 0)).starts_with(kThoughtOpen)) return 0;
  const std::size_t close = text.find(kThoughtClose);
  if (close == std::string_view::npos) return std::nullopt;
  return close + kThoughtClose.size();
}

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.:/").find(c) != std::string_view::npos;
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), allowed);
}

}  // namespace forkpoint::env
