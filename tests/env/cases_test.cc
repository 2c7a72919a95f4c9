// Known failures of other programs, as data: the cases beside the project, where they are there. Our own
// tests of the same kinds stand with each format; these are a second opinion.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/file.h"
#include "env/parsers/openai_tools.h"
#include "env/submission.h"
#include "env/terminal_text.h"
#include "tests/env/read_text.h"
#include "tests/support/fake_backend.h"

namespace forkpoint::tests {
namespace {

class Cases : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path path =
        std::filesystem::path(FORKPOINT_SOURCE_DIR) / "../shared/cases/cases.jsonl";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    const std::string text = core::read_file(path).value();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (end > begin)
        cases_.push_back(core::parse_json(text.substr(begin, end - begin), path.string()).value());
      begin = end + 1;
    }
  }

  std::vector<Json> of_kind(const std::string& kind) const {
    std::vector<Json> chosen;
    for (const Json& one : cases_) {
      if (one.at("kind") == kind) chosen.push_back(one);
    }
    return chosen;
  }

  std::vector<Json> cases_;
};

env::ParsedMessage parse_case(const Json& input) {
  static const std::map<std::string, std::string> formats = {{"mswea_fence", "bash_block"},
                                                             {"openai_tool_calls", "openai_tools"}};
  const std::string dialect = input.at("dialect").get<std::string>();
  const auto renamed = formats.find(dialect);
  const std::string format = renamed == formats.end() ? dialect : renamed->second;
  if (format == "openai_tools")
    return env::make_openai_tools()->parse(env::read_openai_message(input).value());
  return parse(format, input.at("text").get<std::string>());
}

void expect_call(const env::ParsedMessage& parsed, const Json& expected) {
  ASSERT_EQ(parsed.calls.size(), 1U);
  EXPECT_TRUE(parsed.errors.empty());
  if (expected.contains("name")) {
    EXPECT_EQ(parsed.calls[0].tool, expected.at("name"));
  }
  if (expected.contains("arguments")) {
    EXPECT_EQ(parsed.calls[0].arguments, expected.at("arguments"));
  }
  if (expected.contains("command")) {
    EXPECT_EQ(parsed.calls[0].arguments.at("command"), expected.at("command"));
  }
}

TEST_F(Cases, OfMessagesAreReadOrRefused) {
  const std::vector<Json> cases = of_kind("parse");
  EXPECT_FALSE(cases.empty());
  for (const Json& one : cases) {
    SCOPED_TRACE(one.at("id").get<std::string>());
    const Json& expected = one.at("expected");
    const env::ParsedMessage parsed = parse_case(one.at("input"));
    if (expected.contains("policy")) {
      // Either is right; anything else is not.
      if (parsed.errors.empty()) expect_call(parsed, expected.at("exact"));
    } else if (expected.contains("error")) {
      EXPECT_TRUE(parsed.calls.empty());
      ASSERT_EQ(parsed.errors.size(), 1U);
      const std::string code = expected.at("error").get<std::string>();
      if (code != "format_error") {
        EXPECT_EQ(parsed.errors[0].code, code);
      }
      EXPECT_NE(parsed.errors[0].message.find(expected.value("message_contains", "")), std::string::npos);
      if (expected.contains("tool_call_id")) {
        EXPECT_EQ(parsed.errors[0].call_id, expected.at("tool_call_id"));
      }
    } else {
      expect_call(parsed, expected);
    }
  }
}

// What the commands of these cases print is played here, since no sandbox is: each must be known.
TEST_F(Cases, OfSubmissionsAreFound) {
  const std::string line = std::string(env::kSubmissionLine) + "\n";
  const std::string noise = "warn: no conda\n";
  const std::map<std::string, sandbox::ExecResult> results = {
      {"submit-sentinel-after-noise", ended(0, noise + line + "diff")},
      {"submit-sentinel-nonzero", ended(1, line + "cat: missing.patch: No such file or directory\n")}};
  for (const Json& one : of_kind("submit")) {
    const std::string id = one.at("id").get<std::string>();
    SCOPED_TRACE(id);
    ASSERT_TRUE(results.contains(id)) << "a new case: say what it prints";
    const auto submission = env::find_submission(results.at(id), noise).value();
    EXPECT_EQ(submission.has_value(), one.at("expected").at("submitted").get<bool>());
    if (submission) {
      EXPECT_EQ(*submission, one.at("expected").at("submission"));
    }
  }
}

TEST_F(Cases, OfTerminalTextAreFolded) {
  std::size_t count = 0;
  for (const Json& one : cases_) {
    const Json& expected = one.at("expected");
    if (!expected.contains("normalised") || !expected.contains("raw_bytes_hex")) continue;
    const std::string hex = expected.at("raw_bytes_hex").get<std::string>();
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    EXPECT_EQ(env::fold_terminal_text(bytes), expected.at("normalised")) << one.at("id");
    ++count;
  }
  EXPECT_GE(count, 1U);
}

}  // namespace
}  // namespace forkpoint::tests
