#include "sandbox/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/temp_dir.h"

namespace forkpoint::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Suite suite_of(const std::string& text, const std::string& source = "s.toml") {
  const Result<Suite> suite = parse_suite(text, source);
  EXPECT_TRUE(suite.has_value()) << (suite ? "" : suite.error().to_line());
  return suite.value_or(Suite{});
}

std::string error_of(const std::string& text) {
  const Result<Suite> suite = parse_suite(text, "s.toml");
  EXPECT_FALSE(suite.has_value()) << text;
  if (suite) return "";
  EXPECT_EQ(suite.error().fault, Fault::input);
  return suite.error().to_line();
}

// The one step of a suite that has nothing else; its text is on the lines from 4 on.
Step step_of(const std::string& text) {
  const Suite suite = suite_of("[[case]]\nname = 'c'\n[[case.step]]\n" + text);
  return suite.cases.empty() || suite.cases[0].steps.empty() ? Step{} : suite.cases[0].steps[0];
}

std::string step_error_of(const std::string& text) {
  return error_of("[[case]]\nname = 'c'\n[[case.step]]\n" + text);
}

TEST(Suite, ReadsEveryKey) {
  const Suite suite = suite_of(R"(
name = "all"
[policy]
image = "oci:images/base"
workspace = "repo"
memory = "512M"
pids = 32
cpus = 0.5
disk = 1048576
wall = "20s"
cpu_time = 1.5
open_files = 100
file_size = "1M"
output = "10K"
network = "host"
shell = "persistent"
level_min = "L1"
hostname = "h"
env = { A = "1" }
[[case]]
name = "one"
requires = ["L2", "L3", "fork"]
programs = ["git"]
setup = ["mkdir a"]
[case.policy]
pids = 5
[[case.step]]
run = "cat"
stdin = "in"
env = { B = "2" }
cwd = "/tmp"
wall = "500ms"
cpu_time = 2
output_cap = "1K"
separate = true
snapshot = "s"
[[case.step]]
from = "s"
as = "left"
exec = ["printf", "%s", "x"]
[[case.step]]
in = "main"
write = { "a.txt" = "x" }
)",
                               "dir/all.toml");
  EXPECT_EQ(suite.name, "all");
  ASSERT_EQ(suite.cases.size(), 1u);
  const Case& one = suite.cases[0];
  SandboxPolicy policy;
  policy.image = "oci:dir/images/base";
  policy.workspace = "dir/repo";
  policy.limits = {.memory_bytes_max = 512u << 20,
                   .pids_max = 5,
                   .cpus_max = 0.5,
                   .disk_bytes_max = 1u << 20,
                   .wall_s_max = 20,
                   .cpu_time_s_max = 1.5,
                   .open_files_max = 100,
                   .file_size_bytes_max = 1u << 20,
                   .output_bytes_max = 10u << 10};
  policy.network = Network::host;
  policy.shell = ShellMode::persistent;
  policy.level_min = Level::l1;
  policy.hostname = "h";
  policy.environment = {{"A", "1"}};
  EXPECT_EQ(one.policy, policy) << "the case's own policy is put over the suite's";
  EXPECT_THAT(one.requires_levels, ElementsAre(Level::l2, Level::l3));
  EXPECT_THAT(one.requires_features, ElementsAre("fork"));
  EXPECT_THAT(one.programs, ElementsAre("git"));
  EXPECT_THAT(one.setup, ElementsAre("mkdir a"));
  ASSERT_EQ(one.steps.size(), 3u);
  EXPECT_EQ(one.steps[0].run, "cat");
  EXPECT_EQ(one.steps[0].options.stdin_bytes, "in");
  EXPECT_EQ(one.steps[0].options.environment.at("B"), "2");
  EXPECT_EQ(one.steps[0].options.cwd, "/tmp");
  EXPECT_EQ(one.steps[0].options.wall_s_max, 0.5);
  EXPECT_EQ(one.steps[0].options.cpu_time_s_max, 2.0);
  EXPECT_EQ(one.steps[0].options.output_bytes_max, 1024u);
  EXPECT_TRUE(one.steps[0].options.separate_output);
  EXPECT_EQ(one.steps[0].snapshot, "s");
  EXPECT_EQ(one.steps[1].from, "s");
  EXPECT_EQ(one.steps[1].as, "left");
  EXPECT_THAT(one.steps[1].exec, ElementsAre("printf", "%s", "x"));
  EXPECT_EQ(one.steps[2].in, "main");
  EXPECT_EQ(one.steps[2].write.at("a.txt"), "x");
}

TEST(Suite, ReadsEveryExpectation) {
  const Expectation expect = step_of(R"(run = "x"
separate = true
[case.step.expect]
exit_code = [1, 2]
signal = 9
timed_out = true
oom_killed = false
limit = "pids"
output_hex = "61 80 FF"
output_contains = ["a"]
output_lacks = ["b"]
output_matches = ["^a+$"]
error_output = "e"
error_output_contains = ["e"]
elided = true
cwd = "."
background = ["sleep 3", "sleep"]
state_saved = false
files = { a = "1" }
absent = ["b"]
unreadable = ["l"]
changed = ["added x"]
)")
                                 .expect;
  EXPECT_THAT(expect.exit_codes.value(), ElementsAre(1, 2));
  EXPECT_EQ(expect.signal, 9);
  EXPECT_EQ(expect.timed_out, true);
  EXPECT_EQ(expect.oom_killed, false);
  EXPECT_EQ(expect.limit.value(), LimitKind::pids);
  EXPECT_EQ(expect.output.exact, "a\x80\xff");
  EXPECT_THAT(expect.output.contains, ElementsAre("a"));
  EXPECT_THAT(expect.output.lacks, ElementsAre("b"));
  EXPECT_THAT(expect.output.matches, ElementsAre("^a+$"));
  EXPECT_EQ(expect.error_output.exact, "e");
  EXPECT_THAT(expect.error_output.contains, ElementsAre("e"));
  EXPECT_EQ(expect.elided, true);
  EXPECT_EQ(expect.cwd, ".");
  EXPECT_THAT(expect.background, ElementsAre("sleep 3", "sleep"));
  EXPECT_EQ(expect.background_count, 2u);
  EXPECT_EQ(expect.state_saved, false);
  EXPECT_EQ(expect.files.at("a"), "1");
  EXPECT_THAT(expect.absent, ElementsAre("b"));
  EXPECT_THAT(expect.unreadable, ElementsAre("l"));
  EXPECT_THAT(expect.changed.value(), ElementsAre("added x"));
  EXPECT_TRUE(expect.names_an_end());
}

TEST(Suite, HasShortFormsOfExpectations) {
  EXPECT_THAT(step_of("run = 'x'\nexpect.exit_code = 3").expect.exit_codes.value(), ElementsAre(3));
  EXPECT_TRUE(step_of("run = 'x'\nexpect.exit_code = 'any'").expect.exit_codes.value().empty());
  EXPECT_EQ(step_of("run = 'x'\nexpect.limit = 'none'").expect.limit.value(), std::nullopt);
  EXPECT_EQ(step_of("run = 'x'\nexpect.background = 2").expect.background_count, 2u);
  EXPECT_EQ(step_of("run = 'x'\nexpect.background = []").expect.background_count, 0u);
  EXPECT_FALSE(step_of("run = 'x'\nexpect = {limit = 'none', timed_out = false}").expect.names_an_end());
  EXPECT_EQ(step_of("run = 'x'\nexpect.error = 'not_quiet'").expect.error, "not_quiet");
}

TEST(Suite, RequiresForAllItsCases) {
  const Suite suite = suite_of(
      "requires = ['L2', 'L3', 'fork']\n[[case]]\nname = 'a'\nstep = []\n"
      "[[case]]\nname = 'b'\nrequires = ['L3', 'cgroup']\nstep = []");
  ASSERT_EQ(suite.cases.size(), 2u);
  EXPECT_THAT(suite.cases[0].requires_levels, ElementsAre(Level::l2, Level::l3));
  EXPECT_THAT(suite.cases[0].requires_features, ElementsAre("fork"));
  EXPECT_THAT(suite.cases[1].requires_levels, ElementsAre(Level::l3));
  EXPECT_THAT(suite.cases[1].requires_features, ElementsAre("fork", "cgroup"));
}

TEST(Suite, TakesItsNameFromTheFile_WhenItHasNone) {
  EXPECT_EQ(suite_of("case = []", "a/b/shell.toml").name, "shell");
}

TEST(Suite, LeavesTheHostImageAndAbsolutePathsAlone) {
  EXPECT_EQ(suite_of("[policy]\nimage='host'\nworkspace='/w'\n[[case]]\nname='c'\nstep=[]", "d/s.toml")
                .cases.at(0)
                .policy.image,
            "host");
  EXPECT_EQ(suite_of("[policy]\nimage='archive:/i.tar'\n[[case]]\nname='c'\nstep=[]", "d/s.toml")
                .cases.at(0)
                .policy.image,
            "archive:/i.tar");
}

TEST(Suite, NamesTheNearestKnownKey) {
  EXPECT_EQ(error_of("cases = []"), "s.toml:1:1: unknown key 'cases' (did you mean 'case'?)");
  EXPECT_EQ(step_error_of("rum = 'x'"),
            "s.toml:4:1: unknown key 'case.step.rum' (did you mean 'case.step.run'?)");
  EXPECT_EQ(
      step_error_of("run = 'x'\nexpect.exitcode = 1"),
      "s.toml:5:8: unknown key 'case.step.expect.exitcode' (did you mean 'case.step.expect.exit_code'?)");
  EXPECT_EQ(error_of("case = []\n[policy]\nmemmory = '1M'"),
            "s.toml:3:1: unknown key 'policy.memmory' (did you mean 'policy.memory'?)");
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.wall_ms_max = 1"), HasSubstr("unknown key"));
}

TEST(Suite, SaysWhereAValueIsWrong) {
  EXPECT_EQ(error_of("case = []\n[policy]\nmemory = '-1M'"),
            "s.toml:3:10: 'policy.memory' must be a number of bytes, or one with K, M, G or T, such as 256M, "
            "not '-1M'");
  EXPECT_THAT(error_of("case = []\n[policy]\nwall = nan"),
              HasSubstr("s.toml:3:8: 'policy.wall' must be a number of"));
  EXPECT_THAT(error_of("case = []\n[policy]\nwall = 1e30"), HasSubstr("1e+30"));
  EXPECT_THAT(error_of("case = []\n[policy]\nmemory = 1.5"), HasSubstr("not of type number"));
  EXPECT_THAT(error_of("case = []\n[policy]\nnetwork = 'hots'"),
              HasSubstr("must be one of none, host, not 'hots'"));
  EXPECT_THAT(error_of("case = []\n[policy]\nlevel_min = 'none'"), HasSubstr("must be one of L1, L2, L3"));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.limit = 'cpu'"),
              HasSubstr("s.toml:5:16: 'case.step.expect.limit' must"));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.output_hex = '6'"), HasSubstr("pairs of hexadecimal digits"));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.output_hex = '6 1'"),
              HasSubstr("pairs of hexadecimal digits"));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.output_matches = ['(']"),
              HasSubstr("no regular expression in '('"));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.exit_code = 256"), HasSubstr("from 0 to 255"));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.exit_code = 'all'"), HasSubstr("\"any\""));
  EXPECT_THAT(step_error_of("expect.changed = ['new x']"), HasSubstr("\"added PATH\""));
  EXPECT_THAT(step_error_of("expect.changed = ['added']"), HasSubstr("\"added PATH\""));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.background = 'sleep'"), HasSubstr("a count, or a list"));
}

TEST(Suite, RefusesWhatDoesNotGoTogether) {
  EXPECT_THAT(step_error_of("run = 'x'\nexec = ['y']"),
              HasSubstr("s.toml:5:8: 'case.step.exec' can't stand beside"));
  EXPECT_THAT(step_error_of("exec = []"), HasSubstr("must name a program"));
  EXPECT_THAT(step_error_of("write = {a = 'b'}\nexpect.exit_code = 0"),
              HasSubstr("needs a step with 'run' or 'exec'"));
  EXPECT_THAT(step_error_of("write = {a = 'b'}\nstdin = 'x'"), HasSubstr("needs 'run' or 'exec'"));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.error_output = ''"), HasSubstr("needs 'separate = true'"));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect = {output = '', output_hex = ''}"),
              HasSubstr("can't stand beside"));
  EXPECT_THAT(step_error_of("run = 'x'\nas = 'y'"), HasSubstr("needs 'from'"));
  EXPECT_THAT(step_error_of("run = 'x'\nexpect.changed_since = 's'"), HasSubstr("needs 'changed'"));
}

TEST(Suite, KnowsTheNamesThatStepsGive) {
  const std::string two_steps = "snapshot = 'start'\n[[case.step]]\n";
  EXPECT_EQ(
      step_error_of(two_steps + "from = 'strat'"),
      "s.toml:6:8: 'case.step.from' names no snapshot of an earlier step: 'strat' (did you mean 'start'?)");
  EXPECT_THAT(step_error_of("from = 's'\nsnapshot = 's'"), HasSubstr("names no snapshot of an earlier step"));
  EXPECT_THAT(step_error_of("in = 'left'"), HasSubstr("names no sandbox of an earlier step"));
  EXPECT_THAT(step_error_of(two_steps + "snapshot = 'start'"), HasSubstr("a second time"));
  EXPECT_THAT(step_error_of(two_steps + "from = 'start'\nas = 'main'"), HasSubstr("a second time"));
  EXPECT_THAT(step_error_of("expect = {changed = [], changed_since = 's'}"), HasSubstr("names no snapshot"));
  EXPECT_THAT(step_error_of(two_steps + "in = 'main'\nfrom = 'start'"),
              HasSubstr("can't stand beside 'from'"));
}

TEST(Suite, RefusesCasesThatCantBeToldApart) {
  const std::string one = "[[case]]\nname = 'a'\nstep = []\n";
  EXPECT_EQ(error_of(one + one), "s.toml:4:1: 'case' has the name 'a' a second time");
  EXPECT_EQ(error_of("[[case]]\nstep = []"), "s.toml:1:1: 'case.name' is missing");
  EXPECT_EQ(error_of("[[case]]\nname = 'a'"), "s.toml:1:1: 'case.step' is missing");
  EXPECT_EQ(error_of("name = 'x'"), "s.toml:1:1: 'case' is missing");
  EXPECT_EQ(error_of("[[case]]\nname = 'a'\nstep = []\nrequires = ['frok']"),
            "s.toml:4:12: 'case.requires' names no level or feature: 'frok' (did you mean 'fork'?)");
}

TEST(Suite, IsReadFromAFile) {
  const core::TempDir folder = core::TempDir::create("suite").value();
  const std::filesystem::path path = folder.path() / "mine.toml";
  ASSERT_TRUE(core::write_file(path, "[policy]\nworkspace = 'w'\n[[case]]\nname = 'c'\nstep = []\n"));
  const Result<Suite> suite = load_suite(path.native());
  ASSERT_TRUE(suite.has_value()) << suite.error().to_line();
  EXPECT_EQ(suite->name, "mine");
  EXPECT_EQ(suite->cases.at(0).policy.workspace, (folder.path() / "w").native());
  EXPECT_EQ(load_suite((folder.path() / "none.toml").native()).error().code, "no_such_file");
}

// The suites that come with the program.
TEST(Suite, OursCanBeRead) {
  std::size_t suites = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FORKPOINT_SUITES_DIR)) {
    if (entry.path().extension() != ".toml") continue;
    const Result<Suite> suite = load_suite(entry.path().native());
    ASSERT_TRUE(suite.has_value()) << suite.error().to_line();
    EXPECT_FALSE(suite->cases.empty()) << entry.path();
    ++suites;
  }
  EXPECT_GE(suites, 5u);
}

}  // namespace
}  // namespace forkpoint::sandbox
