#include "core/log.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "core/json.h"

namespace forkpoint::core {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override { configure_log({}); }

  template <class Action>
  static std::string stderr_of(Action action) {
    testing::internal::CaptureStderr();
    action();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, WritesLevelAndMessage) {
  EXPECT_EQ(stderr_of([] { log_info("{} of {} tasks", 3, 4); }), "info: 3 of 4 tasks\n");
  EXPECT_EQ(stderr_of([] { log_warning("slow"); }), "warning: slow\n");
}

TEST_F(Log, LeavesOutWhatIsBelowItsLevel) {
  configure_log({.level = LogLevel::warning});
  EXPECT_EQ(stderr_of([] { log_info("not shown"); }), "");
  EXPECT_EQ(stderr_of([] { log_error("shown"); }), "error: shown\n");
  configure_log({.level = LogLevel::off});
  EXPECT_EQ(stderr_of([] { log_error("not shown"); }), "");
}

TEST_F(Log, WritesOneJsonObjectALine_WhateverTheMessageHolds) {
  configure_log({.level = LogLevel::debug, .json = true});
  const std::string text = stderr_of([] { log_debug("{}", "a \"quote\"\nand \xff"); });
  ASSERT_EQ(text.find('\n'), text.size() - 1) << text;
  const Json line = parse_json(text, "log").value();
  EXPECT_EQ(line.at("level"), "debug");
  EXPECT_EQ(line.at("message"), "a \"quote\"\nand \xEF\xBF\xBD");
  EXPECT_GT(line.at("time").get<double>(), 1.7e9);
}

TEST_F(Log, KeepsLinesWhole_WhenManyThreadsWrite) {
  const std::string text = stderr_of([] {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i) log_info("{}", std::string(200, 'x'));
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::string expected;
  for (int i = 0; i < 400; ++i) expected += "info: " + std::string(200, 'x') + "\n";
  EXPECT_EQ(text, expected);
}

}  // namespace
}  // namespace forkpoint::core
