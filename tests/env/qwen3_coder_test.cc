#include <gtest/gtest.h>

#include "tests/env/read_text.h"

namespace forkpoint::tests {
namespace {

constexpr const char* kFormat = "qwen3_coder";

std::string call(const std::string& parameters) {
  return "<tool_call>\n<function=bash>\n" + parameters + "</function>\n</tool_call>";
}

TEST(Qwen3Coder, TakesAllCalls) {
  const env::ParsedMessage parsed =
      parse(kFormat, "Both.\n" + call("<parameter=command>\nls\n</parameter>\n") + "\n" +
                         call("<parameter=command>\npwd\n</parameter>\n") + "\nDone.");
  ASSERT_EQ(parsed.calls.size(), 2U);
  EXPECT_EQ(parsed.calls[0].arguments, Json({{"command", "ls"}}));
  EXPECT_EQ(parsed.calls[1].arguments, Json({{"command", "pwd"}}));
  EXPECT_EQ(parsed.thought, "Both.\n\n\nDone.");
}

TEST(Qwen3Coder, TakesOneLineEndFromEachSideOfAValue) {
  EXPECT_EQ(command(kFormat, call("<parameter=command>\n\n\tif x:\n\n</parameter>\n")), "\n\tif x:\n");
  EXPECT_EQ(command(kFormat, call("<parameter=command>ls</parameter>\n")), "ls");
}

TEST(Qwen3Coder, RefusesACallThatIsNotWhole) {
  const std::string parameter = "<parameter=command>\nls\n</parameter>\n";
  EXPECT_EQ(refusal(kFormat, "<tool_call>\n<function=bash>\n" + parameter + "</function>\n"),
            "unclosed_call");
  EXPECT_EQ(refusal(kFormat, "<tool_call>\n<function=bash>\n" + parameter + "</"), "unclosed_call");
  EXPECT_EQ(refusal(kFormat, "<tool_call>\n" + parameter + "</tool_call>"), "unclosed_call");
  EXPECT_EQ(refusal(kFormat, "<function=bash>\n" + parameter + "</function>\n"), "unbalanced_tags");
  EXPECT_EQ(refusal(kFormat, call(parameter) + "</tool_call>"), "unbalanced_tags");
  EXPECT_EQ(refusal(kFormat, call("<parameter=command>\necho '</parameter>'\n</parameter>\n")),
            "unbalanced_tags");
}

TEST(Qwen3Coder, TakesNothingOutOfAThought) {
  const std::string draft = call("<parameter=command>\nrm x\n</parameter>\n");
  const std::string real = call("<parameter=command>\nls\n</parameter>\n");
  EXPECT_EQ(command(kFormat, "<think>\n" + draft + "\n</think>\n\n" + real), "ls");
  EXPECT_EQ(command(kFormat, draft + "\n</think>\n\n" + real), "ls");
  EXPECT_EQ(refusal(kFormat, "<think>\n" + real), "unfinished_thought");
}

}  // namespace
}  // namespace forkpoint::tests
