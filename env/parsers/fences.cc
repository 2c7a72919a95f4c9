#include "env/parsers/fences.h"

#include <algorithm>

#include "env/parsers/text.h"

namespace forkpoint::env {

std::optional<Fence> fence_of(std::string_view line) {
  const std::size_t ticks = std::min(line.find_first_not_of('`'), line.size());
  const std::string_view info = trim(line.substr(ticks));
  if (ticks < 3 || info.find('`') != std::string_view::npos) return std::nullopt;
  return Fence{.at = 0, .ticks = ticks, .info = info};
}

std::optional<Fence> fence_at_end(std::string_view line) {
  const std::size_t last = line.rfind('`');
  if (last == std::string_view::npos) return std::nullopt;
  const std::size_t before = line.find_last_not_of('`', last);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  std::optional<Fence> fence = fence_of(line.substr(begin));
  if (fence) fence->at = begin;
  return fence;
}

}  // namespace forkpoint::env
