// What removes our own folders must keep out of others' that are mounted in them.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "core/file.h"
#include "core/temp_dir.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;
using core::read_file;
using core::remove_tree;
using core::TempDir;
using core::write_file;

TEST(RemoveTree, LeavesWhatIsMountedInside) {
  const TempDir folder = TempDir::create("remove_tree").value();
  const fs::path precious = folder.path() / "precious";
  const fs::path state = folder.path() / "state";
  ASSERT_TRUE(write_file(precious / "file", "kept"));
  ASSERT_TRUE(core::make_folders(state / "mounted"));
  ASSERT_TRUE(write_file(state / "other", "goes"));
  const pid_t pid = fork();
  if (pid == 0) {
    const bool mounted = unshare(CLONE_NEWNS) == 0 &&
                         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount(precious.c_str(), (state / "mounted").c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!mounted) _exit(77);
    const auto removed = remove_tree(state);
    _exit(!removed && removed.error().code == "not_removed" ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "mounting needs root";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*read_file(precious / "file"), "kept");
  EXPECT_FALSE(fs::exists(state / "other"));
}

}  // namespace
}  // namespace forkpoint::sandbox
