// The program's own verbs, called the way main() calls them.
#include "cli/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

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
