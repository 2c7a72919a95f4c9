#include "core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "core/temp_dir.h"
#include "core/unique_fd.h"

namespace forkpoint::core {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  const TempDir directory_ = TempDir::create("file_test").value();
  const fs::path path_ = directory_.path() / "a" / "b.bin";
};

TEST_F(File, ReadsBackWhatWasWritten) {
  const std::string bytes("\0\xff\r\n end", 8);
  ASSERT_TRUE(write_file(path_, bytes).has_value());
  EXPECT_EQ(read_file(path_).value(), bytes);
}

TEST_F(File, IsReplacedAsAWhole) {
  ASSERT_TRUE(write_file(path_, "a longer text").has_value());
  ASSERT_TRUE(write_file(path_, "short").has_value());
  EXPECT_EQ(read_file(path_).value(), "short");
  EXPECT_EQ(std::distance(fs::directory_iterator(path_.parent_path()), fs::directory_iterator()), 1)
      << "no draft stays behind";
}

TEST_F(File, KeepsTheOldOne_WhenTheNewOneCantBeWritten) {
  ASSERT_TRUE(fs::create_directories(path_ / "in the way"));
  const Result<void> written = write_file(path_, "text");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, "file_unwritable");
  EXPECT_TRUE(fs::exists(path_ / "in the way"));
  EXPECT_EQ(std::distance(fs::directory_iterator(path_.parent_path()), fs::directory_iterator()), 1);
}

TEST_F(File, SaysWhatIsWrong_WhenItCantBeRead) {
  EXPECT_EQ(read_file(path_).error().code, "no_such_file");
  EXPECT_EQ(read_file(path_).error().fault, Fault::input);
  EXPECT_EQ(read_file(directory_.path()).error().code, "not_a_file");
  ASSERT_TRUE(write_file(path_, "x").has_value());
  EXPECT_EQ(read_file(path_ / "below a file").error().code, "no_such_file");
}

TEST_F(File, DoesNotWaitForAWriter_WhenItIsAFifo) {
  const fs::path fifo = directory_.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read_file(fifo).error().code, "not_a_file");
}

TEST_F(File, IsReadUpToTheLimitAndNoFurther) {
  ASSERT_TRUE(write_file(path_, "12345").has_value());
  EXPECT_EQ(read_file(path_, 5).value(), "12345");
  EXPECT_EQ(read_file(path_, 4).error().code, "file_too_large");
}

TEST_F(File, IsReadToItsEnd_WhenTheKernelSaysItIsEmpty) {
  EXPECT_NE(read_file("/proc/self/status").value().find("Pid:"), std::string::npos);
}

TEST(TempDir, IsGoneWithItsOwner) {
  fs::path path;
  {
    const TempDir directory = TempDir::create("temp_dir_test").value();
    path = directory.path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path / "file") << "x";
    fs::create_directories(path / "locked" / "deeper");
    fs::permissions(path / "locked", fs::perms::none);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TempDir, RemovesALinkAndNotWhatItPointsTo) {
  const TempDir outside = TempDir::create("outside").value();
  std::ofstream(outside.path() / "kept") << "x";
  {
    const TempDir directory = TempDir::create("inside").value();
    fs::create_directory_symlink(outside.path(), directory.path() / "link");
  }
  EXPECT_TRUE(fs::exists(outside.path() / "kept"));
}

TEST(TempDir, StaysWithWhoeverItWasMovedTo) {
  TempDir first = TempDir::create("first").value();
  const fs::path path = first.path();
  {
    const TempDir second = std::move(first);
    EXPECT_EQ(second.path(), path);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TempDir, IsLeftAlone_WhenReleased) {
  fs::path path;
  {
    TempDir directory = TempDir::create("released").value();
    path = directory.release();
  }
  EXPECT_TRUE(fs::exists(path));
  EXPECT_TRUE(remove_tree(path).has_value());
  EXPECT_TRUE(remove_tree(path).has_value()) << "what does not exist is as good as removed";
}

TEST(RemoveTree, RemovesWhatIsDeeperThanDescriptorsGo) {
  const TempDir folder = TempDir::create("remove_tree").value();
  const int start = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int at = dup(start);
  for (int depth = 0; depth < 5000; ++depth) {
    ASSERT_EQ(mkdirat(at, "d", 0700), 0);
    const int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(at);
    at = next;
  }
  close(at);
  close(start);
  EXPECT_TRUE(remove_tree(folder.path() / "d").has_value());
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(TempDir, SaysWhere_WhenItCantBeMade) {
  const Error error = TempDir::create("x", "/nonexistent").error();
  EXPECT_EQ(error.code, "no_temp_dir");
  EXPECT_EQ(error.to_line(), "/nonexistent: no folder can be made: No such file or directory");
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, ClosesOnceAndKeepsErrno) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  UniqueFd reader(fds[0]);
  {
    UniqueFd writer(fds[1]);
    UniqueFd moved = std::move(writer);
    EXPECT_EQ(moved.get(), fds[1]);
    EXPECT_TRUE(is_open(fds[1]));
    errno = ENOTTY;
  }
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_FALSE(is_open(fds[1]));
  const int raw = reader.release();
  EXPECT_FALSE(reader);
  EXPECT_TRUE(is_open(raw));
  reader.reset(raw);
  reader.reset();
  EXPECT_FALSE(is_open(raw));
}

}  // namespace
}  // namespace forkpoint::core
