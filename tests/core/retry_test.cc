#include "core/retry.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/fake_clock.h"

namespace forkpoint::core {
namespace {

using namespace std::chrono_literals;

Error busy() {
  return Error{
      .boundary = Boundary::policy, .fault = Fault::transient, .code = "busy", .message = "server is busy"};
}

class Retry : public testing::Test {
 protected:
  // Runs an operation that fails `failures` times before it succeeds.
  Result<int> run(const RetryOptions& options, int failures, const Error& error = busy()) {
    return retry(options, clock_, jitter_, [&]() -> Result<int> {
      if (attempts_++ < failures) return error;
      return 7;
    });
  }

  tests::FakeClock clock_;
  RngStream jitter_{{.seed = 1, .purpose = "retry_test"}};
  int attempts_ = 0;
};

TEST_F(Retry, DoesNotWait_WhenTheFirstAttemptSucceeds) {
  EXPECT_EQ(run({}, 0).value(), 7);
  EXPECT_EQ(attempts_, 1);
  EXPECT_TRUE(clock_.sleeps().empty());
}

TEST_F(Retry, GoesOnUntilItSucceeds) {
  EXPECT_EQ(run({.attempts_max = 4}, 3).value(), 7);
  EXPECT_EQ(attempts_, 4);
  EXPECT_EQ(clock_.sleeps().size(), 3u);
}

TEST_F(Retry, GivesTheLastErrorAndTheNumberOfAttempts_WhenItGivesUp) {
  const Result<int> result = run({.attempts_max = 4}, 100);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(attempts_, 4);
  EXPECT_EQ(result.error().code, "busy");
  EXPECT_EQ(result.error().to_line(), "after 4 attempts: server is busy");
}

TEST_F(Retry, DoesNotRepeatAnErrorThatStays) {
  Error refused = busy();
  refused.fault = Fault::input;
  EXPECT_EQ(run({}, 100, refused).error().to_line(), "server is busy");
  EXPECT_EQ(attempts_, 1);
}

TEST_F(Retry, WaitsWithinABoundThatDoublesUpToItsMaximum) {
  const RetryOptions options{.attempts_max = 9, .first_wait_max = 100ms, .wait_max = 1s, .total_max = 1h};
  std::vector<Clock::Duration> longest(8);
  for (int round = 0; round < 500; ++round) {
    Backoff backoff(options, clock_, jitter_);
    for (Clock::Duration& longest_so_far : longest) {
      const auto wait = backoff.next_wait();
      ASSERT_TRUE(wait.has_value());
      ASSERT_GE(*wait, 0ns);
      longest_so_far = std::max(longest_so_far, *wait);
    }
    EXPECT_EQ(backoff.next_wait(), std::nullopt);
  }
  const std::vector<Clock::Duration> bounds{100ms, 200ms, 400ms, 800ms, 1s, 1s, 1s, 1s};
  for (std::size_t i = 0; i < longest.size(); ++i) {
    EXPECT_LE(longest[i], bounds[i]) << i;
    EXPECT_GT(longest[i], bounds[i] * 9 / 10) << "the jitter uses its whole range " << i;
  }
}

TEST_F(Retry, NeverWaitsBeyondItsTotal) {
  const RetryOptions options{.attempts_max = 1000, .first_wait_max = 1s, .wait_max = 4s, .total_max = 10s};
  const auto start = clock_.now();
  EXPECT_FALSE(run(options, 1000).has_value());
  EXPECT_LE(clock_.now() - start, 10s);
  EXPECT_LT(attempts_, 1000);
  EXPECT_GT(attempts_, 2);
}

TEST_F(Retry, WaitsAtLeastWhatTheOtherSideAsksFor) {
  Backoff backoff({.attempts_max = 3, .first_wait_max = 1ms, .total_max = 10s}, clock_, jitter_);
  const auto wait = backoff.next_wait(5s);
  ASSERT_TRUE(wait.has_value());
  EXPECT_GE(*wait, 5s);
  EXPECT_LE(*wait, 5s + 1ms)
      << "the jitter comes on top, or all who were told the same would come back together";
  EXPECT_EQ(backoff.next_wait(11s), std::nullopt) << "that would end after the deadline";
  EXPECT_EQ(backoff.next_wait(Clock::Duration::max()), std::nullopt);
}

TEST_F(Retry, WaitsTheSame_WhenTheStreamIsTheSame) {
  EXPECT_FALSE(run({.attempts_max = 6}, 100).has_value());
  const std::vector<Clock::Duration> first = clock_.sleeps();
  tests::FakeClock again;
  RngStream jitter({.seed = 1, .purpose = "retry_test"});
  EXPECT_FALSE(retry({.attempts_max = 6}, again, jitter, []() -> Result<int> { return busy(); }).has_value());
  EXPECT_EQ(again.sleeps(), first);
}

}  // namespace
}  // namespace forkpoint::core
