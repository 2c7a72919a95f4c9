#include "core/retry.h"

#include <algorithm>

#include "core/check.h"

namespace forkpoint::core {

Backoff::Backoff(const RetryOptions& options, const Clock& clock, RngStream& jitter)
    : options_(options),
      clock_(clock),
      jitter_(jitter),
      deadline_(clock.now() + options.total_max),
      bound_(std::min(options.first_wait_max, options.wait_max)) {
  FORKPOINT_CHECK(options.attempts_max >= 1, "an operation is tried at least once");
}

std::optional<Clock::Duration> Backoff::next_wait(Clock::Duration at_least) {
  if (attempts_ >= options_.attempts_max) return std::nullopt;
  const auto bound_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(0, bound_.count()));
  const Clock::Duration jittered(static_cast<std::int64_t>(jitter_.below(bound_ns + 1)));
  // Written without sums that a huge `at_least` could overflow.
  const Clock::Duration left = deadline_ - clock_.now();
  if (at_least > left || jittered > left - at_least) return std::nullopt;
  bound_ = std::min<Clock::Duration>(2 * bound_, options_.wait_max);
  ++attempts_;
  return at_least + jittered;
}

}  // namespace forkpoint::core
