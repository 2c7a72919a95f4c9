#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/read_text.h"

namespace forkpoint::tests {
namespace {

constexpr const char* kFormat = "hermes";

std::string call(const std::string& json) { return "<tool_call>\n" + json + "\n</tool_call>"; }
std::string bash(const std::string& command_text) {
  return call(core::to_text(Json{{"name", "bash"}, {"arguments", {{"command", command_text}}}}));
}

TEST(Hermes, TakesAllCallsInOrder) {
  const env::ParsedMessage parsed =
      parse(kFormat, "Both:\n" + bash("ls") + "\n" + bash("pwd") + "<|im_end|>");
  ASSERT_EQ(parsed.calls.size(), 2U);
  EXPECT_EQ(parsed.calls[0].arguments, Json({{"command", "ls"}}));
  EXPECT_EQ(parsed.calls[1].arguments, Json({{"command", "pwd"}}));
  EXPECT_EQ(parsed.thought, "Both:\n\n<|im_end|>");
}

TEST(Hermes, KeepsTagsInsideOfStrings) {
  EXPECT_EQ(command(kFormat, bash("echo '</tool_call>' \"{\" </think> \\\n")),
            "echo '</tool_call>' \"{\" </think> \\\n");
}

TEST(Hermes, KeepsTypes) {
  const env::ParsedMessage parsed =
      parse(kFormat,
            call(R"({"arguments": {"range": [1, -1], "all": true, "x": null, "y": 0.5}, "name": "view"})"));
  ASSERT_EQ(parsed.calls.size(), 1U);
  EXPECT_EQ(core::to_text(parsed.calls[0].arguments), R"({"range":[1,-1],"all":true,"x":null,"y":0.5})");
}

TEST(Hermes, TakesNothingOutOfAThought) {
  EXPECT_EQ(command(kFormat, "<think>" + bash("rm x") + "</think>" + bash("ls")), "ls");
  EXPECT_EQ(command(kFormat, bash("rm x") + "</think>" + bash("ls")), "ls");
  EXPECT_EQ(refusal(kFormat, "<think>" + bash("ls")), "unfinished_thought");
  EXPECT_EQ(refusal(kFormat, "<think>" + bash("ls") + "</think> Done."), "no_call");
}

struct Refusal {
  std::string text;
  std::string code;
  friend std::ostream& operator<<(std::ostream& out, const Refusal& refusal) { return out << refusal.text; }
};

class HermesRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(HermesRefusal, RunsNothing) {
  EXPECT_EQ(refusal(kFormat, GetParam().text), GetParam().code);
  EXPECT_EQ(refusal(kFormat, bash("ls") + GetParam().text), GetParam().code) << "with a good call before it";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HermesRefusal,
    testing::Values(
        Refusal{"<tool_call>", "invalid_json"}, Refusal{call("ls"), "invalid_json"},
        Refusal{call(""), "invalid_json"},
        Refusal{R"(<tool_call>{"name": "bash", "arguments": {"command": "ls)", "invalid_json"},
        Refusal{call(R"({"name": "bash", "arguments": {"command": ls}})"), "invalid_json"},
        Refusal{call("{'name': 'bash', 'arguments': {}}"), "invalid_json"},
        Refusal{call("{\"name\": \"bash\", \"arguments\": {\"command\": \"a\nb\"}}"), "invalid_json"},
        Refusal{R"(<tool_call>{"name": "bash", "arguments": {}})", "unclosed_call"},
        Refusal{call(R"({"name": "bash", "arguments": {}} {"name": "b", "arguments": {}})"), "unclosed_call"},
        Refusal{call(R"({"name": "bash"})"), "bad_call"},
        Refusal{call(R"({"name": "bash", "arguments": "{}"})"), "bad_call"},
        Refusal{call(R"({"name": 1, "arguments": {}})"), "bad_call"},
        Refusal{call(R"({"name": "", "arguments": {}})"), "bad_call"},
        Refusal{call(R"({"name": "bash", "arguments": {}, "command": "ls"})"), "bad_call"},
        Refusal{call(R"({"name": "bash", "arguments": {"a": 1, "a": 2}})"), "duplicate_key"},
        Refusal{call(R"({"name": "bash", "arguments": {"a": [{"b": 1, "b": 1}]}})"), "duplicate_key"},
        Refusal{call(R"({"name": "f", "arguments": {"n": 123456789012345678901234567890}})"),
                "number_too_large"},
        Refusal{"</tool_call>", "unbalanced_tags"}));

TEST(Hermes, SaysWhereTheJsonIsBroken) {
  EXPECT_THAT(parse(kFormat, call("{\n\"name\": }")).errors.at(0).message,
              testing::HasSubstr("arguments:2:9: "));
}

}  // namespace
}  // namespace forkpoint::tests
