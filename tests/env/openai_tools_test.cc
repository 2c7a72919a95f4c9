#include "env/parsers/openai_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forkpoint::env {
namespace {

ParsedMessage parse(const std::string& json) {
  const Json message = core::parse_json(json, "message").value();
  return make_openai_tools()->parse(read_openai_message(message).value());
}

TEST(OpenaiTools, DecodesArgumentsOnce) {
  const ParsedMessage parsed = parse(R"({"role": "assistant", "content": " Both. ", "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{\"command\": \"echo \\\"\\\\n\\\"\"}"}},
    {"id": "b", "type": "function", "function": {"name": "submit", "arguments": "{}"}}]})");
  ASSERT_EQ(parsed.calls.size(), 2U);
  EXPECT_EQ(parsed.calls[0].tool, "bash");
  EXPECT_EQ(parsed.calls[0].id, "a");
  EXPECT_EQ(parsed.calls[0].arguments, Json({{"command", "echo \"\\n\""}}));
  EXPECT_EQ(parsed.calls[1].tool, "submit");
  EXPECT_EQ(parsed.calls[1].arguments, Json::object());
  EXPECT_EQ(parsed.thought, "Both.");
  EXPECT_THAT(parsed.errors, testing::IsEmpty());
}

TEST(OpenaiTools, AnswersABadCallUnderItsIdAndKeepsTheOthers) {
  const ParsedMessage parsed = parse(R"({"content": null, "tool_calls": [
    {"id": "1", "function": {"name": "bash", "arguments": "{\"command\": \"rm -rf a/"}},
    {"id": "2", "function": {"name": "bash", "arguments": "{\"command\": \"ls\"}"}},
    {"id": "3", "function": {"name": "bash", "arguments": "\"{\\\"command\\\": \\\"ls\\\"}\""}},
    {"id": "4", "function": {"name": "bash", "arguments": ""}},
    {"id": "5", "function": {"name": "", "arguments": "{}"}},
    {"id": "6", "function": {"name": "bash", "arguments": "[\"ls\"]"}},
    {"id": "7", "function": {"name": "bash", "arguments": "{\"a\": 1, \"a\": 2}"}}]})");
  ASSERT_EQ(parsed.calls.size(), 1U);
  EXPECT_EQ(parsed.calls[0].id, "2");
  std::vector<std::string> errors;
  for (const FormatError& error : parsed.errors) errors.push_back(*error.call_id + " " + error.code);
  EXPECT_THAT(errors, testing::ElementsAre("1 invalid_json", "3 bad_arguments", "4 invalid_json",
                                           "5 bad_call", "6 bad_arguments", "7 duplicate_key"));
  EXPECT_EQ(parsed.errors[1].message, "A JSON object is needed, but this is a string. The call was not run.");
  EXPECT_EQ(parsed.errors[4].message, "A JSON object is needed, but this is an array. The call was not run.");
}

TEST(OpenaiTools, RefusesTwoCallsOfOneId) {
  const ParsedMessage parsed = parse(R"({"tool_calls": [
    {"id": "1", "function": {"name": "a", "arguments": "{}"}}, {"id": "1", "function": {"name": "b", "arguments": "{}"}}]})");
  EXPECT_THAT(parsed.calls, testing::IsEmpty());
  ASSERT_EQ(parsed.errors.size(), 1U);
  EXPECT_EQ(parsed.errors[0].code, "duplicate_call_id");
}

TEST(OpenaiTools, TakesWhatServersSendInstead) {
  const ParsedMessage parsed =
      parse(R"({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    "tool_calls": [{"function": {"name": "bash", "arguments": {"command": "ls"}}}]})");
  ASSERT_EQ(parsed.calls.size(), 1U);
  EXPECT_EQ(parsed.calls[0].id, std::nullopt);
  EXPECT_EQ(parsed.calls[0].arguments, Json({{"command", "ls"}}));
  EXPECT_EQ(parsed.thought, "ab");
}

TEST(OpenaiTools, TakesNoCallOutOfTheText) {
  EXPECT_EQ(parse(R"({"content": "<tool_call>{}</tool_call>"})").errors.at(0).code, "no_call");
  EXPECT_EQ(parse(R"({"content": "x", "tool_calls": null})").errors.at(0).code, "no_call");
  EXPECT_EQ(parse(R"({"content": "x", "tool_calls": []})").errors.at(0).code, "no_call");
}

TEST(OpenaiMessage, MustHaveItsShape) {
  for (const char* json :
       {"[]", "\"text\"", R"({"content": 1})", R"({"content": [{"type": "image"}]})", R"({"content": ["a"]})",
        R"({"content": [{"type": "text", "text": 1}]})", R"({"tool_calls": {}})", R"({"tool_calls": [1]})",
        R"({"tool_calls": [{"id": "1"}]})", R"({"tool_calls": [{"id": 1, "function": {"name": "a"}}]})",
        R"({"tool_calls": [{"id": "1", "function": {"arguments": "{}"}}]})",
        R"({"tool_calls": [{"id": "1", "function": []}]})"}) {
    const auto message = read_openai_message(core::parse_json(json, "message").value());
    ASSERT_FALSE(message.has_value()) << json;
    EXPECT_EQ(message.error().code, "bad_message") << json;
    EXPECT_EQ(message.error().fault, Fault::input);
  }
}

}  // namespace
}  // namespace forkpoint::env
