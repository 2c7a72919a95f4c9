// What every action parser must do: run for each format there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "core/rng.h"
#include "env/action_formats.h"
#include "tests/env/format_traits.h"
#include "tests/fuzz/action_parser_check.h"
#include "tests/fuzz/message_soup.h"

namespace forkpoint::tests {
namespace {

using env::AssistantMessage;
using env::Finish;
using env::ParsedMessage;
using env::ToolCall;

class ActionParserConformance : public testing::TestWithParam<FormatTraits> {
 protected:
  const FormatTraits& traits() const { return GetParam(); }

  AssistantMessage example() const {
    return parser_->render("I look.", {{.tool = "bash", .arguments = {{"command", "ls"}}}}).value();
  }

  // `message` without all that follows its first `bytes` bytes, calls included.
  static AssistantMessage cut(const AssistantMessage& message, std::size_t bytes) {
    AssistantMessage part{.text = message.text.substr(0, bytes)};
    bytes -= part.text.size();
    for (const env::StructuredCall& call : message.calls) {
      if (bytes == 0) break;
      part.calls.push_back(call);
      part.calls.back().arguments.resize(std::min(bytes, call.arguments.size()));
      bytes -= part.calls.back().arguments.size();
    }
    return part;
  }

  std::vector<ToolCall> some_calls() const {
    const std::size_t count = traits().several_calls ? *rc::gen::inRange<std::size_t>(1, 4) : 1;
    std::vector<ToolCall> calls =
        *rc::gen::container<std::vector<ToolCall>>(count, expressible_call(traits()));
    if (traits().has_ids) {
      for (std::size_t i = 0; i < calls.size(); ++i) calls[i].id = "call_" + std::to_string(i);
    }
    return calls;
  }

  std::unique_ptr<env::ActionParser> parser_ = env::make_action_parser(GetParam().name).value();
};

TEST_P(ActionParserConformance, KnowsItsName) { EXPECT_EQ(parser_->name(), traits().name); }

TEST_P(ActionParserConformance, ReadsBackWhatItWrites) {
  EXPECT_TRUE(rc::check([&] {
    const std::vector<ToolCall> calls = some_calls();
    const auto message = parser_->render("First I look around.", calls);
    RC_ASSERT(message.has_value());
    const ParsedMessage parsed = parser_->parse(*message);
    RC_ASSERT(parsed.errors.empty());
    RC_ASSERT(parsed.calls == calls);
    RC_ASSERT(parsed.thought == "First I look around.");
  }));
}

TEST_P(ActionParserConformance, NeverReadsAnotherCall_WhereverAMessageIsCutOff) {
  EXPECT_TRUE(rc::check([&] {
    const std::vector<ToolCall> calls = some_calls();
    const auto whole = parser_->render("First I look around.", calls);
    RC_ASSERT(whole.has_value());
    std::size_t bytes = whole->text.size();
    for (const env::StructuredCall& call : whole->calls) bytes += call.arguments.size();
    // Every cut of a short message, some 300 of a long one.
    for (std::size_t kept = *rc::gen::inRange<std::size_t>(0, bytes / 300 + 1); kept < bytes;
         kept += bytes / 300 + 1) {
      const ParsedMessage part = parser_->parse(cut(*whole, kept));
      RC_ASSERT(part.calls.empty() == !part.errors.empty() || traits().has_ids);
      RC_ASSERT(part.calls.size() <= calls.size());
      RC_ASSERT(std::equal(part.calls.begin(), part.calls.end(), calls.begin()));
    }
  }));
}

TEST_P(ActionParserConformance, RefusesToWriteWhatItCouldNotReadBack) {
  EXPECT_TRUE(rc::check([&] {
    const std::string text = *any_text();
    const std::vector<ToolCall> calls = {{.tool = "bash", .arguments = {{"command", text}}}};
    const auto message = parser_->render(*any_text(), calls);
    if (message) {
      RC_ASSERT(parser_->parse(*message).calls == calls);
    } else {
      RC_ASSERT(message.error().code == "not_renderable");
    }
  }));
}

TEST_P(ActionParserConformance, KeepsItsPromisesOnAnything) {
  std::size_t accepted = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    core::RngStream rng({.seed = 20, .purpose = "conformance", .step = i});
    const std::string text = message_soup(rng, 6);
    ASSERT_EQ(broken_promise(*parser_, text).value_or(""), "") << "message " << i << ": " << text;
    AssistantMessage message{.text = text};
    if (traits().has_ids) message.calls = {{.id = "1", .tool = "bash", .arguments = text}};
    accepted += parser_->parse(message).errors.empty() ? 1 : 0;
  }
  EXPECT_GE(accepted, 30U) << "so few of these messages hold a call that the test shows little";
}

TEST_P(ActionParserConformance, SaysHowToWriteACall_WhenThereIsNone) {
  for (const char* text : {"", "\n", "I think that I am done.", "Let me run ls."}) {
    const ParsedMessage parsed = parser_->parse({.text = text});
    ASSERT_EQ(parsed.errors.size(), 1U) << text;
    EXPECT_EQ(parsed.errors.front().code, "no_call") << text;
    EXPECT_THAT(parsed.errors.front().message, testing::HasSubstr("othing was run."));
    EXPECT_THAT(parsed.calls, testing::IsEmpty());
  }
  EXPECT_EQ(parser_->parse({.text = " I am done.\n"}).thought, "I am done.");
}

TEST_P(ActionParserConformance, TakesSeveralCallsOrRefusesThem) {
  const std::vector<ToolCall> calls = {{.tool = "bash",
                                        .arguments = {{"command", "ls"}},
                                        .id = traits().has_ids ? "a" : std::optional<std::string>()},
                                       {.tool = "bash",
                                        .arguments = {{"command", "pwd"}},
                                        .id = traits().has_ids ? "b" : std::optional<std::string>()}};
  const auto message = parser_->render("", calls);
  ASSERT_EQ(message.has_value(), traits().several_calls);
  if (message) {
    EXPECT_EQ(parser_->parse(*message).calls, calls);
  }
}

TEST_P(ActionParserConformance, LeavesUnknownToolsToOthers) {
  const std::vector<ToolCall> calls = {{.tool = "no_such_tool", .arguments = {{"anything", "x"}}}};
  const auto message = parser_->render("", calls);
  ASSERT_EQ(message.has_value(), !traits().bash_only);
  if (message) {
    EXPECT_EQ(parser_->parse(*message).calls, calls);
  }
}

TEST_P(ActionParserConformance, RefusesWhatTheLengthLimitHasCutOff) {
  AssistantMessage message = example();
  ASSERT_TRUE(parser_->parse(message).errors.empty());
  message.finish = Finish::stop;
  EXPECT_EQ(parser_->parse(message).calls.size(), 1U);
  message.finish = Finish::length;
  const ParsedMessage parsed = parser_->parse(message);
  EXPECT_THAT(parsed.calls, testing::IsEmpty());
  ASSERT_EQ(parsed.errors.size(), 1U);
  EXPECT_EQ(parsed.errors.front().code, "cut_off");
}

TEST_P(ActionParserConformance, RefusesBytesThatAreNoText) {
  AssistantMessage message = example();
  message.text += "\xff";
  EXPECT_EQ(parser_->parse(message).errors.at(0).code, "not_utf8");
}

TEST_P(ActionParserConformance, LimitsTheSizeOfAMessage) {
  AssistantMessage message = example();
  message.text.insert(0, std::string(env::kMessageBytesMax, 'x') + "\n");
  EXPECT_EQ(parser_->parse(message).errors.at(0).code, "too_long");
}

// Time that grows with the square of the length would show here as a time-out.
TEST_P(ActionParserConformance, ReadsLongMessages) {
  for (const std::string& token : soup_tokens()) {
    std::string text;
    while (text.size() < 200'000) text += token;
    AssistantMessage message = example();
    message.text += text;
    for (env::StructuredCall& call : message.calls) call.arguments += text;
    const ParsedMessage parsed = parser_->parse(message);
    EXPECT_EQ(parsed.calls.empty(), !parsed.errors.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ActionParserConformance, testing::ValuesIn(format_traits()),
                         [](const auto& format) { return format.param.name; });

TEST(ActionFormats, AreAllInTheConformanceSuite) {
  std::vector<std::string> names;
  for (const FormatTraits& traits : format_traits()) names.push_back(traits.name);
  EXPECT_EQ(names, env::action_formats());
}

TEST(ActionFormats, SuggestTheNearest_WhenOneIsUnknown) {
  const Error error = env::make_action_parser("bash_blok").error();
  EXPECT_EQ(error.code, "unknown_format");
  EXPECT_EQ(error.fault, Fault::input);
  EXPECT_EQ(error.to_line(), "unknown action format 'bash_blok' (did you mean 'bash_block'?)");
  EXPECT_EQ(env::make_action_parser("").error().advice,
            "there are bash_block, hermes, openai_tools, qwen3_coder, react, thought_action, xml_function");
}

}  // namespace
}  // namespace forkpoint::tests
