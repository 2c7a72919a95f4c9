#include "core/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "core/check.h"
#include "core/result.h"

namespace forkpoint::core {
namespace {

Error missing_task() {
  return Error{.boundary = Boundary::task,
               .fault = Fault::input,
               .code = "no_such_task",
               .message = "no task 'a-1' in tasks.jsonl",
               .advice = "see 'forkpoint tasks list'"};
}

TEST(Error, PutsContextBeforeTheMessageAndAdviceBehindIt) {
  Error error = missing_task();
  EXPECT_EQ(error.to_line(), "no task 'a-1' in tasks.jsonl (see 'forkpoint tasks list')");
  error = std::move(error).within("reading tasks").within("rollout");
  EXPECT_EQ(error.to_line(),
            "rollout: reading tasks: no task 'a-1' in tasks.jsonl (see 'forkpoint tasks list')");
}

TEST(Error, HasTheExitCodeOfItsFault) {
  EXPECT_EQ(exit_code(Fault::input), 2);
  EXPECT_EQ(exit_code(Fault::host), 3);
  EXPECT_EQ(exit_code(Fault::transient), 1);
  EXPECT_EQ(exit_code(Fault::work), 1);
  EXPECT_EQ(exit_code(Fault::interrupted), 130);
}

TEST(Error, ExplainsErrno) {
  const Error error = system_error(ENOSPC, "file_unwritable", "run/metrics.jsonl: can't be written");
  EXPECT_EQ(error.code, "file_unwritable");
  EXPECT_EQ(error.to_line(), "run/metrics.jsonl: can't be written: No space left on device");
}

Result<std::unique_ptr<int>> half(int number) {
  if (number % 2 != 0) return missing_task();
  return std::make_unique<int>(number / 2);
}

Result<int> quarter(int number) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, half(number));
  FORKPOINT_ASSIGN_OR_RETURN(const std::unique_ptr<int> second, half(*first));
  return *second;
}

Result<void> check_quarter(int number) {
  FORKPOINT_RETURN_IF_ERROR(quarter(number).within("taking a quarter"));
  return {};
}

TEST(Result, CarriesAValueThroughTheMacros) { EXPECT_EQ(quarter(12).value(), 3); }

TEST(Result, CarriesTheErrorThroughTheMacros) {
  const Result<void> failed = check_quarter(6);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, "no_such_task");
  EXPECT_EQ(failed.error().context, std::vector<std::string>{"taking a quarter"});
  EXPECT_TRUE(check_quarter(8).has_value());
}

TEST(Result, CanBeMappedWithoutLosingItsType) {
  const Result<int> mapped = quarter(12).map([](int number) { return number + 1; });
  EXPECT_EQ(mapped.value(), 4);
}

TEST(CheckDeathTest, StopsTheProgramWithPlaceConditionAndMessage) {
  const int turns = 2;
  FORKPOINT_CHECK(turns == 2, "never printed");
  EXPECT_DEATH(FORKPOINT_CHECK(turns == 3, "three turns"),
               "error_test\\.cc:[0-9]+: check failed: turns == 3: three turns");
}

}  // namespace
}  // namespace forkpoint::core
