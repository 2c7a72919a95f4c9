// FakeClock: time stands still until a test moves it. Thread-safe.
#pragma once

#include <mutex>
#include <vector>

#include "core/clock.h"

namespace forkpoint::tests {

class FakeClock final : public core::Clock {
 public:
  // `wall_s`: seconds since 1970 that the wall clock starts at.
  explicit FakeClock(std::int64_t wall_s = 0) : wall_(std::chrono::seconds(wall_s)) {}

  SteadyTime now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  WallTime wall_now() const override {
    const std::lock_guard lock(mutex_);
    return wall_;
  }

  // Returns at once: the time asked for has passed.
  void sleep_for(Duration duration) override {
    advance(duration);
    const std::lock_guard lock(mutex_);
    sleeps_.push_back(duration);
  }

  void advance(Duration duration) {
    const std::lock_guard lock(mutex_);
    now_ += duration;
    wall_ += duration;
  }

  // What sleep_for() was asked for, in order.
  std::vector<Duration> sleeps() const {
    const std::lock_guard lock(mutex_);
    return sleeps_;
  }

 private:
  mutable std::mutex mutex_;
  SteadyTime now_{};
  WallTime wall_;
  std::vector<Duration> sleeps_;
};

}  // namespace forkpoint::tests
