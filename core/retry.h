// retry: repeats what failed for a reason that may pass by itself, a bounded number of times.
//
//   RngStream jitter({.seed = seed, .purpose = "retry"});
//   Result<Reply> reply = retry({.attempts_max = 5}, system_clock(), jitter, [&] { return
//   client.send(request); });
//
// Only an Error with Fault::transient is repeated; any other is returned at once. Waits grow exponentially
// with full jitter: each is uniform in 0..bound, and the bound doubles. (Brooker, "Exponential backoff and
// jitter", 2015: of the usual schemes this one makes competing clients collide least.)
//
// Blocks the calling thread. Backoff and the stream are not synchronized.
#pragma once

#include <chrono>
#include <optional>

#include "core/clock.h"
#include "core/result.h"
#include "core/rng.h"

namespace forkpoint::core {

struct RetryOptions {
  int attempts_max = 4;  // the first one included
  std::chrono::milliseconds first_wait_max{200};
  std::chrono::milliseconds wait_max{10'000};   // the bound stops doubling here
  std::chrono::milliseconds total_max{60'000};  // no wait ends later than this after the first attempt
};

// The waits of one operation. Separate from retry() for those who wait in their own way.
class Backoff {
 public:
  // Keeps references to both.
  Backoff(const RetryOptions& options, const Clock& clock, RngStream& jitter);

  // How long to wait before the next attempt; nothing when there shall be none. `at_least` is what the other
  // side asked for (Retry-After); the jitter comes on top.
  std::optional<Clock::Duration> next_wait(Clock::Duration at_least = {});

  int attempts() const { return attempts_; }  // begun so far, the first one included

 private:
  RetryOptions options_;
  const Clock& clock_;
  RngStream& jitter_;
  Clock::SteadyTime deadline_;
  Clock::Duration bound_;
  int attempts_ = 1;
};

// The first success of `attempt()`, a Result; or its last error, with the number of attempts in its context.
template <class Attempt>
auto retry(const RetryOptions& options, Clock& clock, RngStream& jitter, Attempt attempt)
    -> decltype(attempt()) {
  Backoff backoff(options, clock, jitter);
  while (true) {
    auto result = attempt();
    if (result.has_value() || result.error().fault != Fault::transient) return result;
    const std::optional<Clock::Duration> wait = backoff.next_wait();
    if (!wait) return std::move(result).within("after " + std::to_string(backoff.attempts()) + " attempts");
    clock.sleep_for(*wait);
  }
}

}  // namespace forkpoint::core
