#include "env/observation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/utf8.h"
#include "tests/support/fake_backend.h"

namespace forkpoint::env {
namespace {

using sandbox::CapturedOutput;
using sandbox::ExecResult;
using sandbox::LimitKind;
using tests::captured;

ExecResult ended(std::string output, int exit_code = 0) {
  ExecResult result = tests::ended(exit_code, std::move(output));
  result.cwd = "/workspace";
  return result;
}

Observation observe(const ExecResult& result, const ObservationConfig& config = {}) {
  return ObservationFormatter::create(config).value().format(result);
}

// Only the output, of at most `chars_max` characters.
ObservationConfig only_output(std::int64_t chars_max, std::int64_t head_chars) {
  ObservationConfig config;
  config.output_chars_max = chars_max;
  config.head_chars = head_chars;
  config.templates.result = "{output}";
  config.templates.elision = "<{elided_chars}>";
  return config;
}

std::string shown(const std::string& output, std::int64_t chars_max, std::int64_t head_chars) {
  return observe(ended(output), only_output(chars_max, head_chars)).text;
}

TEST(Observation, EndsWithExitCodeAndWorkingDirectory) {
  EXPECT_EQ(observe(ended("a.py\n")).text, "a.py\n[exit code 0, working directory /workspace]\n");
  EXPECT_EQ(observe(ended("", 1)).text, "[exit code 1, working directory /workspace]\n");
  EXPECT_EQ(observe(ended("no line end", 3)).text,
            "no line end\n[exit code 3, working directory /workspace]\n");
}

TEST(Observation, IsTextWhateverTheBytes) {
  ExecResult result = ended("a\xff\xc3\n");
  result.cwd = "/\xff";
  EXPECT_EQ(observe(result).text, "a\uFFFD\uFFFD\n[exit code 0, working directory /\uFFFD]\n");
  EXPECT_EQ(result.output.head, "a\xff\xc3\n") << "the bytes stay";
}

TEST(Observation, FoldsTerminalText_WhenAsked) {
  ObservationConfig config = only_output(100, 50);
  EXPECT_EQ(observe(ended("\r1/2\r2/2\n\x1b[1mok\x1b[m\n"), config).text, "2/2\nok\n");
  config.fold_terminal_text = false;
  EXPECT_EQ(observe(ended("\r1/2\x1b[m\n"), config).text, "\r1/2\x1b[m\n");
}

TEST(Observation, KeepsBeginningAndEndOfLongOutput) {
  EXPECT_EQ(shown("0123456789", 10, 4), "0123456789") << "exactly at the limit it is whole";
  EXPECT_EQ(shown("0123456789x", 10, 4), "0123<1>56789x");
  EXPECT_EQ(shown("0123456789", 4, 4), "0123<6>");
  EXPECT_EQ(shown("0123456789", 4, 0), "<6>6789");
  EXPECT_EQ(observe(ended("0123456789"), only_output(4, 2)).elided_chars, 6U);
}

TEST(Observation, CountsCodePoints) {
  EXPECT_EQ(shown("\u00fc\u65e5\U0001F600x\u00fc", 5, 3), "\u00fc\u65e5\U0001F600x\u00fc");
  EXPECT_EQ(shown("\u00fc\u65e5\U0001F600x\u00fc", 4, 2), "\u00fc\u65e5<1>x\u00fc");
  EXPECT_EQ(shown("\xff\xff\xff", 2, 1), "\uFFFD<1>\uFFFD");
}

TEST(Observation, CountsAfterFolding) { EXPECT_EQ(shown("\r1\r2\r3\n\x1b[31mab\x1b[m", 4, 2), "3\nab"); }

// What the sandbox has not kept is counted in bytes, and stands between what it has.
TEST(Observation, CountsWhatTheSandboxLeftOut) {
  ExecResult result = ended("");
  result.output = {.head = "abc", .tail = "xyz\n", .bytes_total = 1007};
  EXPECT_EQ(observe(result, only_output(100, 50)).text, "abc<1000>xyz\n");
  EXPECT_EQ(observe(result, only_output(4, 2)).text, "ab<1003>z\n");
  EXPECT_EQ(observe(result, only_output(7, 5)).text, "abc<1000>xyz\n");
  EXPECT_EQ(observe(result, only_output(4, 2)).elided_chars, 1003U);
}

TEST(Observation, ShowsNoHalfCharacters_WhereTheSandboxHasCut) {
  ExecResult result = ended("");
  result.output = {.head = "a\xe6\x97", .tail = "\x98\x80z", .bytes_total = 100};
  EXPECT_EQ(observe(result, only_output(100, 50)).text, "a<98>z");
  result.output = {.head = "a\xff", .tail = "z", .bytes_total = 100};
  EXPECT_EQ(observe(result, only_output(100, 50)).text, "a\uFFFD<97>z")
      << "a wrong byte is no half character";
  result.output = {.head = "\u65e5", .tail = "z", .bytes_total = 100};
  EXPECT_EQ(observe(result, only_output(100, 50)).text, "\u65e5<96>z");
}

TEST(Observation, NotesATimeOut) {
  ExecResult result = ended("start\n");
  result.exit_code = std::nullopt;
  result.signal = 9;
  result.timed_out = true;
  result.limit = LimitKind::wall;
  result.wall_ms = 30'040;
  EXPECT_EQ(observe(result).text,
            "start\n[stopped after 30.0 s: the time for one command is over]\n"
            "[exit code 124, working directory /workspace]\n");
}

TEST(Observation, NotesALimit) {
  ExecResult result = ended("x");
  result.exit_code = std::nullopt;
  result.signal = 9;
  result.limit = LimitKind::pids;
  EXPECT_EQ(
      observe(result).text,
      "x\n[ended because it reached the limit on pids]\n[exit code 137, working directory /workspace]\n");
  result.limit = LimitKind::memory;
  result.oom_killed = true;
  EXPECT_EQ(observe(result).text,
            "x\n[ended because it ran out of memory]\n[exit code 137, working directory /workspace]\n");
}

TEST(Observation, NotesASignal) {
  ExecResult result = ended("");
  result.exit_code = std::nullopt;
  result.signal = 11;
  EXPECT_EQ(observe(result).text, "[ended by signal 11]\n[exit code 139, working directory /workspace]\n");
}

TEST(Observation, NotesWhatIsLeftBehind) {
  ExecResult result = ended("");
  result.background = {{.pid = 7, .command = "sleep 9"}, {.pid = 8, .command = "sleep 9"}};
  result.state_saved = false;
  EXPECT_EQ(observe(result).text,
            "[2 processes still run in the background]\n"
            "[the shell's variables and working directory are as before this command]\n"
            "[exit code 0, working directory /workspace]\n");
}

TEST(Observation, ShowsBothStreams_WhereTheyCameApart) {
  ExecResult result = ended("out\n");
  result.error_output = captured("0123456789");
  ObservationConfig config = only_output(6, 3);
  config.templates.result = "{output}|{error_output}|{exit_code}";
  const Observation observation = observe(result, config);
  EXPECT_EQ(observation.text, "out\n|012<4>789|0");
  EXPECT_EQ(observation.elided_chars, 4U);
}

TEST(ObservationConfig, NamesTheTemplateThatIsWrong) {
  ObservationConfig config;
  config.templates.time_out = "after {wall} s";
  EXPECT_EQ(ObservationFormatter::create(config).error().to_line(),
            "templates.time_out: unknown placeholder '{wall}' (did you mean '{wall_s}'?)");
  config = {};
  config.templates.signal = "{output}";
  EXPECT_EQ(ObservationFormatter::create(config).error().code, "unknown_placeholder")
      << "only `result` has it";
  config = {};
  config.head_chars = config.output_chars_max + 1;
  EXPECT_EQ(ObservationFormatter::create(config).error().code, "out_of_range");
}

TEST(ObservationConfig, IsReadFromToml) {
  ObservationConfig config;
  ASSERT_TRUE(core::parse_config(
                  config,
                  "output_chars_max = 3\nhead_chars = 1\n[templates]\nresult = '{output}={exit_code}'\n"
                  "elision = '~'\n",
                  "run.toml")
                  .has_value());
  EXPECT_EQ(observe(ended("abcdef", 2), config).text, "a~ef=2");
  ObservationConfig again;
  ASSERT_TRUE(core::parse_config(again, core::config_to_toml(ObservationConfig{}), "defaults").has_value());
  EXPECT_EQ(again.templates.result, ObservationTemplates{}.result);
}

RC_GTEST_PROP(Observation, IsWithinItsLimitAndSaysExactlyWhatIsMissing, (const std::string& bytes)) {
  const std::int64_t chars_max = *rc::gen::inRange(1, 12);
  const std::int64_t head = *rc::gen::inRange<std::int64_t>(0, chars_max + 1);
  ObservationConfig config = only_output(chars_max, head);
  config.fold_terminal_text = false;
  config.templates.elision = "";
  const Observation observation = observe(ended(bytes), config);
  RC_ASSERT(core::is_utf8(observation.text));
  const auto chars = [](std::string_view text) {
    return static_cast<std::uint64_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  };
  const std::uint64_t all = chars(core::to_utf8(bytes));
  RC_ASSERT(chars(observation.text) == std::min(all, static_cast<std::uint64_t>(chars_max)));
  RC_ASSERT(observation.elided_chars == all - chars(observation.text));
}

}  // namespace
}  // namespace forkpoint::env
