#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/read_text.h"

namespace forkpoint::tests {
namespace {

constexpr const char* kFormat = "react";

TEST(React, TakesThoughtActionAndInput) {
  const env::ParsedMessage parsed =
      parse(kFormat,
            "Thought: I look\naround.\nAction: view\nAction Input: {\"path\": \"a\",\n \"range\": [1, 2]}\n");
  ASSERT_EQ(parsed.calls.size(), 1U);
  EXPECT_EQ(parsed.calls[0].tool, "view");
  EXPECT_EQ(core::to_text(parsed.calls[0].arguments), R"({"path":"a","range":[1,2]})");
  EXPECT_EQ(parsed.thought, "I look\naround.");
}

TEST(React, DropsObservationsThatTheModelMadeUp) {
  EXPECT_EQ(command(kFormat,
                    "Action: bash\nAction Input: {\"command\": \"ls\"}\nObservation: a.py\nThought: so\n"
                    "Action: bash\nAction Input: {\"command\": \"rm a.py\"}\n"),
            "ls");
}

TEST(React, KeepsItsMarksInsideOfStrings) {
  EXPECT_EQ(command(kFormat, R"(Action: bash
Action Input: {"command": "echo 'Action: x }'\nObservation: y"})"),
            "echo 'Action: x }'\nObservation: y");
}

TEST(React, RefusesWhatIsNotOneWholeAction) {
  EXPECT_EQ(refusal(kFormat, "Thought: done\nFinal Answer: 42"), "no_call");
  EXPECT_EQ(refusal(kFormat, "Action Input: {}"), "no_call");
  EXPECT_EQ(refusal(kFormat, "Action: bash"), "no_input");
  EXPECT_EQ(refusal(kFormat, "Action: bash\nand then\nAction Input: {}"), "no_input");
  EXPECT_EQ(refusal(kFormat, "Action: run ls\nAction Input: {}"), "bad_call");
  EXPECT_EQ(refusal(kFormat, "Action: bash\nAction Input: ls -la"), "invalid_json");
  EXPECT_EQ(refusal(kFormat, "Action: bash\nAction Input: {\"command\": \"rm -rf /tmp"), "invalid_json");
  EXPECT_EQ(refusal(kFormat, "Action: bash\nAction Input: {\"a\": 1, \"a\": 2}"), "duplicate_key");
  EXPECT_EQ(refusal(kFormat, "Action: bash\nAction Input: {\"command\": \"ls\"} | wc"), "trailing_text");
  EXPECT_EQ(refusal(kFormat, "Action: a\nAction Input: {}\nAction: b\nAction Input: {}\n"), "several_calls");
  EXPECT_THAT(
      parse(kFormat, "Action: a\nAction Input: {}\nAction: b\nAction Input: {}\n").errors.at(0).message,
      testing::HasSubstr("found 2"));
}

TEST(React, TakesNothingOutOfAThought) {
  EXPECT_EQ(command(kFormat,
                    "<think>\nAction: rm\nAction Input: {}\n</think>\nAction: bash\n"
                    "Action Input: {\"command\": \"ls\"}"),
            "ls");
}

}  // namespace
}  // namespace forkpoint::tests
