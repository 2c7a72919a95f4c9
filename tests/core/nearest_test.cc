#include "core/nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace forkpoint::core {
namespace {

TEST(EditDistance, CountsSlips) {
  EXPECT_EQ(edit_distance("train", "train"), 0u);
  EXPECT_EQ(edit_distance("trian", "train"), 1u) << "neighbours swapped";
  EXPECT_EQ(edit_distance("tran", "train"), 1u);
  EXPECT_EQ(edit_distance("", "train"), 5u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

RC_GTEST_PROP(EditDistance, IsSymmetricAndZeroOnlyForEquals, (const std::string& a, const std::string& b)) {
  RC_ASSERT(edit_distance(a, b) == edit_distance(b, a));
  RC_ASSERT((edit_distance(a, b) == 0) == (a == b));
  RC_ASSERT(edit_distance(a, b) <= std::max(a.size(), b.size()));
}

TEST(Nearest, SuggestsTheClosestOrNothing) {
  const std::vector<std::string> verbs{"train", "trajectories", "tasks", "replay"};
  EXPECT_EQ(nearest("trian", verbs), "train");
  EXPECT_EQ(nearest("task", verbs), "tasks");
  EXPECT_EQ(nearest("relpay", verbs), "replay");
  EXPECT_EQ(nearest("xyz", verbs), std::nullopt);
  EXPECT_EQ(nearest("train", {}), std::nullopt);
}

}  // namespace
}  // namespace forkpoint::core
