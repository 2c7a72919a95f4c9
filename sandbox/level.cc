#include "sandbox/level.h"

#include "core/check.h"

namespace forkpoint::sandbox {

std::string_view to_string(Level level) {
  switch (level) {
    case Level::none: return "none";
    case Level::l1: return "L1";
    case Level::l2: return "L2";
    case Level::l3: return "L3";
  }
  FORKPOINT_UNREACHABLE();
}

std::optional<Level> level_from_string(std::string_view name) {
  for (const Level level : {Level::none, Level::l1, Level::l2, Level::l3}) {
    if (to_string(level) == name) return level;
  }
  return std::nullopt;
}

}  // namespace forkpoint::sandbox
