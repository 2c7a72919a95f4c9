#include "sandbox/inside_path.h"

#include <gtest/gtest.h>

namespace forkpoint::sandbox {
namespace {

constexpr char kRoot[] = "/state/1/root";

TEST(InsidePath, MeansItself_WhenTheRootIsItsOwn) {
  EXPECT_EQ(seen_path("/workspace/a", "/"), "/workspace/a");
  EXPECT_EQ(state_path("/etc/a", "/"), "/etc/a");
  EXPECT_EQ(state_path("a", "/"), "a");
}

TEST(InsidePath, IsBelowTheRoot_WhenItNamesAFolderOfTheState) {
  EXPECT_EQ(seen_path("/workspace", kRoot), "/state/1/root/workspace");
  EXPECT_EQ(seen_path("/tmp/a", kRoot), "/state/1/root/tmp/a");
  EXPECT_EQ(seen_path("/workspaces", kRoot), "/workspaces");
  EXPECT_EQ(seen_path("/usr/workspace", kRoot), "/usr/workspace");
  EXPECT_EQ(seen_path("/state/1/root/workspace/a", kRoot), "/state/1/root/workspace/a");
}

TEST(InsidePath, IsOfTheState_WhicheverWayItWasGiven) {
  EXPECT_EQ(state_path("/workspace/a", kRoot), "/workspace/a");
  EXPECT_EQ(state_path("/state/1/root/workspace/a", kRoot), "/workspace/a");
  EXPECT_EQ(state_path("/state/1/root", kRoot), "/");
  EXPECT_EQ(state_path("workspace/a", kRoot), "workspace/a");
  EXPECT_EQ(state_path("/state/1/roots/a", kRoot), std::nullopt);
  EXPECT_EQ(state_path("/state/1", kRoot), std::nullopt);
  EXPECT_EQ(state_path("/etc/passwd", kRoot), std::nullopt);
}

}  // namespace
}  // namespace forkpoint::sandbox
