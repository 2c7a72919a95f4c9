#include "core/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/file.h"
#include "core/temp_dir.h"
#include "core/unique_fd.h"
#include "tests/support/fake_clock.h"

namespace forkpoint::core {
namespace {

using namespace std::chrono_literals;

class ProgressTest : public testing::Test {
 protected:
  std::unique_ptr<Progress> start(const std::string& title, std::uint64_t total, bool terminal,
                                  int width = 60) {
    return std::make_unique<Progress>(
        title, total, ProgressOptions{.fd = fd_.get(), .terminal = terminal, .width_columns = width}, clock_);
  }

  // What was written since the last call.
  std::string written() {
    const std::string all = read_file(path_).value();
    return all.substr(std::exchange(seen_, all.size()));
  }

  const TempDir directory_ = TempDir::create("progress").value();
  const std::filesystem::path path_ = directory_.path() / "stderr";
  const UniqueFd fd_{::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  tests::FakeClock clock_;
  std::size_t seen_ = 0;
};

TEST_F(ProgressTest, DrawsABarOverItsOwnLine_OnATerminal) {
  const auto progress = start("tasks", 4, true);
  EXPECT_EQ(written(), "\r\x1b[2Ktasks [--------------------] 0/4 0%");
  clock_.advance(10s);
  progress->advance(1, "1 valid");
  EXPECT_EQ(written(), "\r\x1b[2Ktasks [#####---------------] 1/4 25% 0:30 left, 1 valid");
  clock_.advance(3600s);
  progress->advance(3);
  EXPECT_EQ(written(), "\r\x1b[2Ktasks [####################] 4/4 100% in 1:00:10");
  progress->finish();
  EXPECT_EQ(written(), "\n");
}

TEST_F(ProgressTest, DrawsNoMoreOftenThanAsked) {
  const auto progress = start("tasks", 1000, true);
  written();
  clock_.advance(99ms);
  progress->advance(1);
  EXPECT_EQ(written(), "");
  clock_.advance(1ms);
  progress->advance(1);
  EXPECT_THAT(written(), testing::HasSubstr(" 2/1000 "));
  progress->advance(1);
  EXPECT_EQ(written(), "");
  progress->finish();
  EXPECT_THAT(written(), testing::HasSubstr(" 3/1000 ")) << "the final state is always shown";
}

TEST_F(ProgressTest, WritesPlainLines_ElsewhereThanOnATerminal) {
  {
    const auto progress = start("tasks", 4, false);
    for (int i = 0; i < 4; ++i) {
      clock_.advance(6s);
      progress->advance(1);
    }
  }
  EXPECT_EQ(written(), "tasks 0/4 0%\ntasks 2/4 50% 0:12 left\ntasks 4/4 100% in 0:24\n");
}

TEST_F(ProgressTest, CountsWhereTheTotalIsNotKnown) {
  const auto progress = start("tasks", 0, false);
  clock_.advance(75s);
  progress->advance(12, "fast");
  EXPECT_EQ(written(), "tasks 0, 0:00\ntasks 12, 1:15, fast\n");
}

TEST_F(ProgressTest, IsNeverWiderThanTheTerminal) {
  const auto progress = start("tasks", 4, true, 12);
  EXPECT_EQ(written(), "\r\x1b[2Ktasks [----");
  const auto accented = start("äöüäöüäöüäöü", 0, true, 6);
  EXPECT_EQ(written(), "\r\x1b[2Käöüäö");
}

TEST_F(ProgressTest, NeutralizesControlCharacters) {
  const auto progress = start("a\nb", 0, false);
  clock_.advance(10s);
  progress->advance(1, "\x1b[31mred\r\n");
  EXPECT_EQ(written(), "a b 0, 0:00\na b 1, 0:10,  [31mred  \n");
}

TEST_F(ProgressTest, MakesRoomForAMessage) {
  const auto progress = start("tasks", 4, true);
  written();
  progress->clear();
  EXPECT_EQ(written(), "\r\x1b[2K");
  progress->finish();
  EXPECT_THAT(written(), testing::HasSubstr("0/4"));
}

TEST_F(ProgressTest, WritesNothingAfterItsEnd) {
  const auto progress = start("tasks", 4, true);
  progress->finish();
  written();
  clock_.advance(10s);
  progress->advance(1);
  progress->clear();
  progress->finish();
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, CountsForManyThreads) {
  const auto progress = start("tasks", 400, false);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < 100; ++step) progress->advance(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  progress->finish();
  EXPECT_THAT(written(), testing::EndsWith("tasks 400/400 100% in 0:00\n"));
}

}  // namespace
}  // namespace forkpoint::core
