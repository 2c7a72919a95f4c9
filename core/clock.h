// Clock: where time comes from, so that tests can replace it (tests/support/fake_clock.h).
//
// Implementations are safe to use from several threads.
#pragma once

#include <chrono>

namespace forkpoint::core {

class Clock {
 public:
  using Duration = std::chrono::nanoseconds;
  using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
  using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

  virtual ~Clock() = default;

  // Never goes back; for deadlines and durations.
  virtual SteadyTime now() const = 0;

  // Time of day, UTC; for records that people read.
  virtual WallTime wall_now() const = 0;

  // Blocks the calling thread; a duration that is not positive returns at once.
  virtual void sleep_for(Duration duration) = 0;
};

// Seconds since 1970, as logs and event files write a time of day.
double unix_seconds(Clock::WallTime wall);

// The machine's clock; lives as long as the program.
Clock& system_clock();

}  // namespace forkpoint::core
