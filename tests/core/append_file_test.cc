#include "core/append_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>

#include "core/file.h"
#include "core/temp_dir.h"

namespace forkpoint::core {
namespace {

using testing::HasSubstr;

// No file of this process may grow beyond `bytes` while one exists.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const struct rlimit limited { .rlim_cur = bytes, .rlim_max = before_.rlim_max };
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  struct rlimit before_ {};
};

TEST(AppendFile, GoesOnBehindWhatTheFileHolds) {
  const TempDir dir = TempDir::create("append").value();
  for (const char* record : {"one\n", "two\n"}) {
    AppendFile file = AppendFile::open(dir.path() / "log").value();
    ASSERT_TRUE(file.append(record));
  }
  EXPECT_EQ(read_file(dir.path() / "log").value(), "one\ntwo\n");
}

TEST(AppendFile, RefusesAnExistingFile_WhenToCreateOne) {
  const TempDir dir = TempDir::create("append").value();
  ASSERT_TRUE(AppendFile::open(dir.path() / "log", AppendFile::Mode::create));
  EXPECT_EQ(AppendFile::open(dir.path() / "log", AppendFile::Mode::create).error().code, "file_exists");
}

TEST(AppendFile, SaysWhereAndWhy_WhenTheFolderIsMissing) {
  const Error error = AppendFile::open("/nonexistent/log").error();
  EXPECT_EQ(error.code, "file_unwritable");
  EXPECT_EQ(error.message, "/nonexistent/log: can't be written: No such file or directory");
}

TEST(AppendFile, SaysThatTheDiskIsFull) {
  AppendFile file = AppendFile::open("/dev/full").value();
  const Error error = file.append("record\n").error();
  EXPECT_EQ(error.code, "file_unwritable");
  EXPECT_THAT(error.message, HasSubstr("/dev/full"));
}

TEST(AppendFile, LeavesNoHalfRecord_WhenOneDoesNotFit) {
  const TempDir dir = TempDir::create("append").value();
  AppendFile file = AppendFile::open(dir.path() / "log").value();
  ASSERT_TRUE(file.append("12345678\n"));
  {
    const FileSizeLimit limit(12);
    const Result<void> appended = file.append("abcdefgh\n");
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code, "file_unwritable");
    EXPECT_THAT(appended.error().to_line(), HasSubstr("File too large (raise the limit"));
  }
  EXPECT_EQ(read_file(dir.path() / "log").value(), "12345678\n");
  ASSERT_TRUE(file.append("next\n"));
  EXPECT_EQ(read_file(dir.path() / "log").value(), "12345678\nnext\n");
}

}  // namespace
}  // namespace forkpoint::core
