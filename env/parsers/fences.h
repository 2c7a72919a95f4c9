// Fences: the lines of backticks around blocks, as Markdown has them.
//
// Pure functions; views point into their arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace forkpoint::env {

struct Fence {
  std::size_t at = 0;     // where in the line it begins
  std::size_t ticks = 0;  // at least 3
  std::string_view info;  // what follows them, without blank space around it; empty for a bare fence

  bool bare() const { return info.empty(); }
};

// The fence that `line` is, if it is one: backticks at its very beginning, and no further ones.
std::optional<Fence> fence_of(std::string_view line);

// The fence that `line` ends with: text may stand before it.
std::optional<Fence> fence_at_end(std::string_view line);

}  // namespace forkpoint::env
