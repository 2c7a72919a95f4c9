#include "sandbox/exec_result.h"

#include <gtest/gtest.h>

#include <string>

#include "sandbox/level.h"

namespace forkpoint::sandbox {
namespace {

CapturedOutput all_of(std::string bytes) {
  const std::uint64_t bytes_total = bytes.size();
  return CapturedOutput{.head = std::move(bytes), .tail = {}, .bytes_total = bytes_total};
}

TEST(LimitKind, HasTheNamesOfTheContract) {
  for (const char* name :
       {"wall", "cpu_time", "memory", "pids", "output", "disk", "open_files", "file_size"}) {
    const std::optional<LimitKind> limit = limit_from_string(name);
    ASSERT_TRUE(limit.has_value()) << name;
    EXPECT_EQ(to_string(*limit), name);
  }
  EXPECT_EQ(limit_from_string("cpu"), std::nullopt);
  EXPECT_EQ(limit_from_string(""), std::nullopt);
}

TEST(Level, HasAName) {
  EXPECT_EQ(to_string(Level::none), "none");
  EXPECT_EQ(to_string(Level::l1), "L1");
  EXPECT_EQ(to_string(Level::l2), "L2");
  EXPECT_EQ(to_string(Level::l3), "L3");
  EXPECT_EQ(level_from_string("L2"), Level::l2);
  EXPECT_EQ(level_from_string("none"), Level::none);
  EXPECT_EQ(level_from_string("l2"), std::nullopt);
}

TEST(CapturedOutput, IsWhatCame_WhenAllWasKept) {
  const CapturedOutput output = all_of("one\ntwo");
  EXPECT_FALSE(output.truncated());
  EXPECT_EQ(output.bytes_left_out(), 0u);
  EXPECT_EQ(output.text(), "one\ntwo");
  EXPECT_EQ(CapturedOutput{}.text(), "");
}

TEST(CapturedOutput, SaysWhatIsMissingOnALineOfItsOwn) {
  CapturedOutput output{.head = "xxx", .tail = "yy\n", .bytes_total = 1006};
  EXPECT_TRUE(output.truncated());
  EXPECT_EQ(output.text(), "xxx\n[... 1000 bytes left out ...]\nyy\n");
  output.head = "xx\n";
  EXPECT_EQ(output.text(), "xx\n[... 1000 bytes left out ...]\nyy\n");
  output = {.head = "", .tail = "", .bytes_total = 5};
  EXPECT_EQ(output.text(), "[... 5 bytes left out ...]\n");
}

TEST(ExecResult, HasTheStatusThatAShellWouldGive) {
  ExecResult result;
  result.exit_code = 3;
  EXPECT_EQ(result.shell_status(), 3);
  result.exit_code = std::nullopt;
  result.signal = 9;
  EXPECT_EQ(result.shell_status(), 137);
  result.timed_out = true;
  EXPECT_EQ(result.shell_status(), 124);
}

TEST(ExecResultJson, HasTheKeysOfTheContract) {
  ExecResult result;
  result.exit_code = 0;
  result.output = all_of("hi\n");
  result.wall_ms = 12.5;
  result.cpu_ms = 3;
  result.memory_peak_bytes = 4096;
  result.cwd = "/workspace";
  result.background = {{.pid = 7, .command = "sleep 300"}};
  EXPECT_EQ(
      core::to_text(to_json(result)),
      R"({"exit_code":0,"signal":null,"timed_out":false,"oom_killed":false,"limit":null,"output":"hi\n",)"
      R"("output_bytes_total":3,"output_elided_chars":0,"wall_ms":12.5,"cpu_ms":3.0,)"
      R"("memory_peak_bytes":4096,"cwd":"/workspace","state_saved":true,)"
      R"("background":[{"pid":7,"command":"sleep 300"}],"error":null})");
}

TEST(ExecResultJson, NamesSignalAndLimit) {
  ExecResult result;
  result.signal = 9;
  result.timed_out = true;
  result.limit = LimitKind::cpu_time;
  result.state_saved = false;
  const Json json = to_json(result);
  EXPECT_TRUE(json["exit_code"].is_null());
  EXPECT_EQ(json["signal"], 9);
  EXPECT_EQ(json["timed_out"], true);
  EXPECT_EQ(json["limit"], "cpu_time");
  EXPECT_EQ(json["state_saved"], false);
  EXPECT_EQ(json["background"], Json::array());
}

TEST(ExecResultJson, KeepsBytesThatAreNoText) {
  ExecResult result;
  result.exit_code = 0;
  result.output = all_of(
      "a\x80\xff"
      "b\n");
  const Json json = to_json(result);
  EXPECT_EQ(json["output"], "a\uFFFD\uFFFDb\n");
  EXPECT_EQ(json["output_base64"], "YYD/Ygo=");
  EXPECT_FALSE(json.contains("stdout"));
}

TEST(ExecResultJson, GivesBothStreams_WhenTheyWereAskedForSeparately) {
  ExecResult result;
  result.exit_code = 1;
  result.output = all_of("out");
  result.error_output = CapturedOutput{.head = "e\xff", .tail = "r", .bytes_total = 10};
  const Json json = to_json(result);
  EXPECT_EQ(json["output"], "out");
  EXPECT_EQ(json["stdout"], "out");
  EXPECT_EQ(json["stderr"], "e\uFFFD\n[... 7 bytes left out ...]\nr");
  EXPECT_TRUE(json.contains("stderr_base64"));
  EXPECT_FALSE(json.contains("stdout_base64"));
  EXPECT_EQ(json["output_bytes_total"], 13);
  EXPECT_EQ(json["output_elided_chars"], 7);
}

}  // namespace
}  // namespace forkpoint::sandbox
