#include "core/clock.h"

#include <thread>

namespace forkpoint::core {
namespace {

class SystemClock final : public Clock {
 public:
  SteadyTime now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall_now() const override { return std::chrono::system_clock::now(); }
  void sleep_for(Duration duration) override { std::this_thread::sleep_for(duration); }
};

}  // namespace

double unix_seconds(Clock::WallTime wall) {
  return std::chrono::duration<double>(wall.time_since_epoch()).count();
}

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace forkpoint::core
