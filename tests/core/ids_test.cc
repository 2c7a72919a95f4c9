#include "core/ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

#include "tests/support/fake_clock.h"

namespace forkpoint::core {
namespace {

static_assert(!std::is_convertible_v<TaskId, TrajectoryId>);
static_assert(!std::is_convertible_v<std::string, TaskId>);

TEST(Id, ComparesHashesAndPrintsAsItsValue) {
  const std::unordered_set<TaskId> ids{TaskId("a"), TaskId("b"), TaskId("a")};
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_LT(PolicyVersion(1), PolicyVersion(2));
  EXPECT_EQ(fmt::format("{} {:>3}", TaskId("a-1"), GroupId(7)), "a-1   7");
}

TEST(RunId, BeginsWithTheTimeAndDiffersEachTime) {
  const tests::FakeClock clock(1'796'120'130);
  const RunId first = make_run_id(clock);
  EXPECT_THAT(first.value(), testing::MatchesRegex("20261201-101530-[0-9a-f]+"));
  EXPECT_EQ(first.value().size(), 24u);
  EXPECT_NE(first, make_run_id(clock));
}

}  // namespace
}  // namespace forkpoint::core
