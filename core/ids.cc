#include "core/ids.h"

#include <fmt/chrono.h>

#include <random>

#include "core/clock.h"

namespace forkpoint::core {

RunId make_run_id(const Clock& clock) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(clock.wall_now());
  // The one place where chance comes from the machine: two runs started in one second must differ.
  const std::uint32_t suffix = std::random_device{}();
  return RunId(fmt::format("{:%Y%m%d-%H%M%S}-{:08x}", fmt::gmtime(seconds), suffix));
}

}  // namespace forkpoint::core
