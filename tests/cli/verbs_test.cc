// The program's own verbs, called the way main() calls them.
#include "cli/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/actions_parse.h"
#include "cli/program.h"
#include "core/file.h"
#include "core/temp_dir.h"

namespace forkpoint::cli {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(arguments, make_verbs(), out, err);
  return {code, out.str(), err.str()};
}

TEST(Verbs, EachHaveASummaryAndAnExampleThatCallsThem) {
  for (const auto& verb : make_verbs()) {
    const VerbHelp help = verb->help();
    EXPECT_THAT(help.example, testing::StartsWith("forkpoint " + help.path));
    EXPECT_FALSE(help.summary.empty());
    EXPECT_NE(help.summary.back(), '.');
  }
}

class ConfigShow : public testing::Test {
 protected:
  std::string write(const std::string& text) const {
    const std::string path = directory_.path() / "run.toml";
    EXPECT_TRUE(core::write_file(path, text).has_value());
    return path;
  }

  const core::TempDir directory_ = core::TempDir::create("config_show").value();
};

TEST_F(ConfigShow, PrintsAConfigThatReadsBackTheSame) {
  const Outcome first = run({"config", "show", write("[log]\nlevel = 'debug'\n"), "--set", "log.json=true"});
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.out, HasSubstr("level = \"debug\"\n"));
  EXPECT_THAT(first.out, HasSubstr("json = true\n"));
  EXPECT_EQ(run({"config", "show", write(first.out)}).out, first.out);
}

TEST_F(ConfigShow, PrintsOneObject_WhenJsonIsAskedFor) {
  EXPECT_EQ(run({"config", "show", write(""), "--json"}).out,
            "{\"log\":{\"level\":\"info\",\"json\":false},\"learner\":{\"library\":\"\"}}\n");
}

TEST_F(ConfigShow, ExplainsAConfigErrorInOneLine) {
  const std::string path = write("[log]\nlevle = 'debug'\n");
  const Outcome outcome = run({"config", "show", path});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "forkpoint: " + path + ":2:1: unknown key 'log.levle' (did you mean 'log.level'?)\n");
}

TEST_F(ConfigShow, NamesAnUnknownOption_EvenWhereTheConfigIsMissingToo) {
  const Outcome outcome = run({"config", "show", "--jsn"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "forkpoint: config show: unknown option '--jsn' (did you mean '--json'? see 'forkpoint config "
            "show --help')\n");
}

TEST_F(ConfigShow, IsBadUsage_WithoutAConfig) { EXPECT_EQ(run({"config", "show"}).code, 2); }

// The same with a text on standard input, for the verb that reads one.
Outcome parse_actions(std::vector<std::string> options, const std::string& message) {
  std::istringstream input(message);
  std::vector<std::unique_ptr<Verb>> verbs;
  verbs.push_back(make_actions_parse(input));
  std::ostringstream out;
  std::ostringstream err;
  options.insert(options.begin(), {"actions", "parse"});
  const int code = run_program(options, verbs, out, err);
  return {code, out.str(), err.str()};
}

TEST(ActionsParse, PrintsTheCallsAsOneObject) {
  const Outcome outcome = parse_actions({"--format", "bash_block"}, "I look.\n```bash\nls -a\n```\n");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "{\"calls\":[{\"tool\":\"bash\",\"arguments\":{\"command\":\"ls -a\"},\"id\":null}],"
            "\"thought\":\"I look.\",\"errors\":[],\"error\":null}\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(parse_actions({"--format", "bash_block", "--json"}, "I look.\n```bash\nls -a\n```\n").out,
            outcome.out);
}

TEST(ActionsParse, AnswersWithTheError_WhenTheMessageCantBeRead) {
  const Outcome outcome = parse_actions({"--format", "hermes"}, "nothing");
  EXPECT_EQ(outcome.code, 0) << "the question was answered";
  const Json answer = core::parse_json(outcome.out, "answer").value();
  EXPECT_EQ(answer.at("calls"), Json::array());
  EXPECT_EQ(answer.at("thought"), "nothing");
  EXPECT_EQ(answer.at("error").at("code"), "no_call");
  EXPECT_EQ(answer.at("error").at("call_id"), nullptr);
}

TEST(ActionsParse, ReadsAJsonMessage_ForOpenaiTools) {
  const Outcome outcome = parse_actions(
      {"--format", "openai_tools"},
      R"({"content": null, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}},
                        {"id": "b", "function": {"name": "f", "arguments": "{"}}]})");
  const Json answer = core::parse_json(outcome.out, "answer").value();
  ASSERT_EQ(answer.at("calls").size(), 1u);
  EXPECT_EQ(answer.at("calls").at(0).at("id"), "a");
  EXPECT_EQ(answer.at("error").at("call_id"), "b");

  const Outcome broken = parse_actions({"--format", "openai_tools"}, "{\"content\"");
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, testing::StartsWith("forkpoint: stdin:1:"));
  EXPECT_EQ(broken.out, "");
}

TEST(ActionsParse, TellsTheParserWhyTheModelStopped) {
  const std::string without_tail = "<function=f>\n<parameter=a>1</parameter>\n";
  const auto code = [&](const std::vector<std::string>& options) {
    const Json answer = core::parse_json(parse_actions(options, without_tail).out, "answer").value();
    return answer.at("error").is_null() ? "" : answer.at("error").at("code").get<std::string>();
  };
  EXPECT_EQ(code({"--format", "xml_function"}), "unclosed_call");
  EXPECT_EQ(code({"--format", "xml_function", "--finish-reason", "stop"}), "");
  EXPECT_EQ(code({"--format", "xml_function", "--finish-reason", "length"}), "cut_off");
}

TEST(ActionsParse, KeepsEveryByteOfItsInput) {
  const std::string command(1, '\0');
  const Outcome outcome = parse_actions({"--format", "bash_block"}, "```bash\r\n\tx" + command + "\r\n```");
  const Json answer = core::parse_json(outcome.out, "answer").value();
  EXPECT_EQ(answer.at("calls").at(0).at("arguments").at("command"), "\tx" + command + "\r");
}

TEST(ActionsParse, IsBadUsage_WithoutAFormatOrWithAnUnknownOne) {
  EXPECT_EQ(parse_actions({}, "").code, 2);
  const Outcome unknown = parse_actions({"--format", "hermess"}, "");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err, "forkpoint: unknown action format 'hermess' (did you mean 'hermes'?)\n");
  EXPECT_EQ(parse_actions({"--format", "hermes", "--finish-reason", "tired"}, "").code, 2);
}

TEST(ActionsParse, NamesItsFormatsInItsHelp) {
  const Outcome outcome = parse_actions({"--help"}, "");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("forkpoint actions parse --format bash_block < message.txt"));
  for (const char* format :
       {"bash_block", "hermes", "openai_tools", "qwen3_coder", "react", "thought_action", "xml_function"}) {
    EXPECT_THAT(outcome.out, HasSubstr(format));
  }
}

TEST(Doctor, FindsTheFault_WhenTheLearnLibraryIsMissing) {
  const Outcome outcome = run({"doctor", "--json", "--set", "learner.library=/nonexistent/library.so"});
  EXPECT_EQ(outcome.code, 1);
  const Json report = core::parse_json(outcome.out, "report").value();
  EXPECT_EQ(report.at("features").at("learn_library").at("ok"), false);
  EXPECT_EQ(report.at("features").at("learn_library").at("detail"),
            "/nonexistent/library.so: no such library");
  EXPECT_EQ(report.at("advice").size(), 1u);
}

}  // namespace
}  // namespace forkpoint::cli
