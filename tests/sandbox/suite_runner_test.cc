#include "sandbox/suite_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/fake_backend.h"
#include "tests/support/fake_clock.h"

namespace forkpoint::sandbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::captured;
using tests::ended;
using tests::fake_error;
using tests::FakeBackend;
using tests::FakeState;
using tests::prints;

class SuiteRunner : public ::testing::Test {
 protected:
  SuiteRunner() {
    backend_.on("true", prints(""));
    backend_.on("false", prints("", 1));
    backend_.on("hi", prints("hi\n"));
    backend_.on("setup", [](FakeState& state, const ExecOptions&) {
      state.files["/workspace/base"] = "b";
      return ended(0);
    });
    backend_.on("touch x", [](FakeState& state, const ExecOptions&) {
      state.files["/workspace/x"] = "";
      return ended(0);
    });
    backend_.on("cd d", [](FakeState& state, const ExecOptions&) {
      state.cwd = "/workspace/d";
      return ended(0);
    });
    backend_.on("daemon", [](FakeState& state, const ExecOptions&) {
      state.processes.push_back({.pid = 7, .command = "sleep 300"});
      return ended(0);
    });
  }

  // Whatever a suite does, nothing may be left of it.
  void TearDown() override {
    EXPECT_EQ(backend_.sandboxes_alive(), 0);
    EXPECT_EQ(backend_.snapshots_alive(), 0);
    EXPECT_EQ(backend_.closed(), backend_.created() + backend_.forked());
  }

  SuiteReport report_of(const std::string& text, const SuiteOptions& options = {}) {
    const Result<Suite> suite = parse_suite(text, "s.toml");
    EXPECT_TRUE(suite.has_value()) << (suite ? "" : suite.error().to_line());
    return suite ? run_suite(*suite, backend_, options) : SuiteReport{};
  }

  // The result of the one case whose steps these are.
  CaseResult play(const std::string& steps, const SuiteOptions& options = {}) {
    const SuiteReport report = report_of("[[case]]\nname = 'c'\n" + steps, options);
    EXPECT_EQ(report.cases.size(), 1u);
    return report.cases.empty() ? CaseResult{} : report.cases[0];
  }

  void expect_pass(const std::string& steps) {
    const CaseResult result = play(steps);
    EXPECT_EQ(to_string(result.status), "passed") << steps << "\n" << result.reason;
    EXPECT_EQ(result.reason, "");
  }

  std::string failure_of(const std::string& steps) {
    const CaseResult result = play(steps);
    EXPECT_EQ(to_string(result.status), "failed") << steps;
    return result.reason;
  }

  // The same for one step.
  void expect_step_passes(const std::string& step) { expect_pass("[[case.step]]\n" + step); }
  std::string step_failure_of(const std::string& step) { return failure_of("[[case.step]]\n" + step); }

  std::size_t times_run(const std::string& command) const {
    const std::vector<std::string> commands = backend_.commands();
    return static_cast<std::size_t>(std::count(commands.begin(), commands.end(), command));
  }

  FakeBackend backend_;
};

TEST_F(SuiteRunner, ExpectsExitCodeZero_WhenNothingIsSaid) {
  expect_step_passes("run = 'true'");
  EXPECT_EQ(step_failure_of("run = 'false'"),
            "step 1 (run 'false'): expected exit code 0, got exit code 1; its output ends with \"\"");
  EXPECT_THAT(step_failure_of("run = 'nonsense'"), HasSubstr("nonsense: command not found"));
  expect_step_passes("run = 'false'\nexpect.exit_code = 1");
  expect_step_passes("run = 'false'\nexpect.exit_code = [0, 1]");
  expect_step_passes("run = 'false'\nexpect.exit_code = 'any'");
  EXPECT_THAT(step_failure_of("run = 'true'\nexpect.exit_code = [1, 2]"),
              HasSubstr("expected exit code 1 or 2"));
  EXPECT_THAT(step_failure_of("run = 'false'\nexpect.output = ''"), HasSubstr("expected exit code 0"));
}

TEST_F(SuiteRunner, ComparesHowAnActionEnded) {
  backend_.on("bomb", [](FakeState&, const ExecOptions&) {
    ExecResult result;
    result.signal = 9;
    result.oom_killed = true;
    result.limit = LimitKind::memory;
    result.state_saved = false;
    return result;
  });
  backend_.on("hang", [](FakeState&, const ExecOptions&) {
    ExecResult result;
    result.signal = 9;
    result.timed_out = true;
    result.limit = LimitKind::wall;
    return result;
  });
  expect_step_passes(
      "run = 'bomb'\nexpect = {signal = 9, oom_killed = true, limit = 'memory', state_saved = false}");
  expect_step_passes("run = 'hang'\nexpect = {timed_out = true, limit = 'wall'}");
  expect_step_passes("run = 'true'\nexpect = {limit = 'none', timed_out = false, oom_killed = false}");
  EXPECT_THAT(step_failure_of("run = 'bomb'\nexpect.limit = 'pids'"),
              HasSubstr("expected limit pids, got signal 9, out of memory, limit memory"));
  EXPECT_THAT(step_failure_of("run = 'bomb'\nexpect.signal = 15"), HasSubstr("expected signal 15"));
  EXPECT_THAT(step_failure_of("run = 'bomb'\nexpect = {timed_out = true}"),
              HasSubstr("expected timed_out true"));
  EXPECT_THAT(step_failure_of("run = 'bomb'\nexpect.exit_code = 0"), HasSubstr("expected exit code 0"));
  EXPECT_THAT(step_failure_of("run = 'bomb'\nexpect = {signal = 9, state_saved = true}"),
              HasSubstr("expected state_saved true"));
  EXPECT_THAT(step_failure_of("run = 'hang'\nexpect = {signal = 9, limit = 'none'}"),
              HasSubstr("expected limit none"));
}

TEST_F(SuiteRunner, ComparesOutput) {
  backend_.on("bytes", prints("a\x80\xff\n"));
  backend_.on("lines", prints("one\ntwo 22\n" + std::string(100'000, 'x') + "\nend\n"));
  expect_step_passes("run = 'hi'\nexpect.output = \"hi\\n\"");
  expect_step_passes("run = 'bytes'\nexpect.output_hex = '6180ff0a'");
  expect_step_passes("run = 'lines'\nexpect = {output_contains = ['two', 'end'], output_lacks = ['three']}");
  expect_step_passes("run = 'lines'\nexpect.output_matches = ['^two [0-9]+$', '^end$', '^x+$', '(x*)*x']");
  EXPECT_THAT(step_failure_of("run = 'hi'\nexpect.output = 'ho'"),
              HasSubstr(R"(output differs from byte 1 on: expected "ho", got "hi\n")"));
  EXPECT_THAT(step_failure_of("run = 'bytes'\nexpect.output = ''"), HasSubstr("got \"a\uFFFD\uFFFD\\n\""));
  EXPECT_THAT(step_failure_of("run = 'hi'\nexpect.output_contains = ['ho']"),
              HasSubstr("should contain \"ho\""));
  EXPECT_THAT(step_failure_of("run = 'hi'\nexpect.output_lacks = ['i']"),
              HasSubstr("should not contain \"i\""));
  EXPECT_THAT(step_failure_of("run = 'lines'\nexpect.output_matches = ['^two$']"),
              HasSubstr("should match \"^two$\""));
  EXPECT_THAT(step_failure_of("run = 'lines'\nexpect.output = ''"), HasSubstr("bytes more"));
}

TEST_F(SuiteRunner, ComparesStreamsApart) {
  backend_.on("both", [](FakeState&, const ExecOptions& options) {
    ExecResult result = ended(0, "out");
    EXPECT_TRUE(options.separate_output);
    result.error_output = captured("err");
    return result;
  });
  expect_step_passes("run = 'both'\nseparate = true\nexpect = {output = 'out', error_output = 'err'}");
  EXPECT_THAT(step_failure_of("run = 'both'\nseparate = true\nexpect.error_output_contains = ['x']"),
              HasSubstr("error output should contain \"x\""));
}

TEST_F(SuiteRunner, ComparesWhatWasLeftOut) {
  backend_.on("flood", [](FakeState&, const ExecOptions& options) {
    ExecResult result = ended(0);
    result.output = {.head = "xx", .tail = "yy", .bytes_total = options.output_bytes_max.value() + 100};
    return result;
  });
  expect_step_passes(
      "run = 'flood'\noutput_cap = 4\nexpect = {elided = true, output_contains = ['100 bytes left out']}");
  EXPECT_THAT(step_failure_of("run = 'flood'\noutput_cap = 4\nexpect.elided = false"),
              HasSubstr("expected elided false, and 100 bytes"));
  EXPECT_THAT(step_failure_of("run = 'hi'\nexpect.elided = true"),
              HasSubstr("expected elided true, and 0 bytes"));
}

TEST_F(SuiteRunner, ComparesFolderAndProcesses) {
  expect_step_passes("run = 'cd d'\nexpect.cwd = 'd'");
  expect_step_passes("run = 'cd d'\nexpect.cwd = '/workspace/d'");
  expect_step_passes("run = 'true'\nexpect.cwd = '.'");
  EXPECT_THAT(step_failure_of("run = 'cd d'\nexpect.cwd = '.'"),
              HasSubstr("expected cwd \"/workspace\", got"));

  expect_step_passes("run = 'true'\nexpect.background = []");
  expect_step_passes("run = 'daemon'\nexpect.background = ['sleep 3']");
  expect_pass("[[case.step]]\nrun = 'daemon'\n[[case.step]]\nrun = 'daemon'\nexpect.background = 2");
  EXPECT_THAT(step_failure_of("run = 'daemon'\nexpect.background = ['top']"),
              HasSubstr("expected 1 background processes [\"top\"], got [\"sleep 300\"]"));
  EXPECT_THAT(step_failure_of("run = 'daemon'\nexpect.background = 0"),
              HasSubstr("expected 0 background processes"));
}

TEST_F(SuiteRunner, FindsADifferentProcessForEachPart) {
  backend_.on("two", [](FakeState& state, const ExecOptions&) {
    state.processes = {{.pid = 1, .command = "sleep 300"}, {.pid = 2, .command = "sleep 3"}};
    return ended(0);
  });
  expect_step_passes("run = 'two'\nexpect.background = ['sleep 3', 'sleep 300']");
  EXPECT_THAT(step_failure_of("run = 'two'\nexpect.background = ['300', 'sleep 300']"),
              HasSubstr("expected 2"));
}

TEST_F(SuiteRunner, ComparesFiles) {
  backend_.on("write", [](FakeState& state, const ExecOptions&) {
    state.files["/workspace/src/a"] = "1";
    state.files["/etc/b"] = "2";
    return ended(0);
  });
  expect_step_passes("run = 'write'\nexpect.files = {'src/a' = '1', '/etc/b' = '2'}");
  expect_step_passes("run = 'write'\nexpect = {absent = ['src/b', 'none/x', '/a'], unreadable = ['src/b']}");
  expect_step_passes("write = {a = '1'}\nexpect.files = {a = '1'}");
  EXPECT_THAT(step_failure_of("run = 'write'\nexpect.files = {'src/a' = '2'}"),
              HasSubstr(R"(file "src/a" differs from byte 0 on: expected "2", got "1")"));
  EXPECT_THAT(step_failure_of("run = 'write'\nexpect.files = {b = '2'}"),
              HasSubstr("file \"b\" can't be read"));
  EXPECT_THAT(step_failure_of("run = 'write'\nexpect.absent = ['src/a']"),
              HasSubstr("\"src/a\" should not be there"));
  EXPECT_THAT(step_failure_of("run = 'write'\nexpect.absent = ['src']"),
              HasSubstr("\"src\" should not be there"));
  EXPECT_THAT(step_failure_of("run = 'write'\nexpect.unreadable = ['src/a']"),
              HasSubstr("should be refused, got"));
}

TEST_F(SuiteRunner, ComparesChangesSinceTheSetup) {
  expect_pass("setup = ['setup']\n[[case.step]]\nrun = 'touch x'\nexpect.changed = ['added x']");
  expect_pass("setup = ['setup']\n[[case.step]]\nrun = 'true'\nexpect.changed = []");
  expect_pass(
      "[[case.step]]\nrun = 'setup'\nsnapshot = 's'\n[[case.step]]\nrun = 'touch x'\n"
      "expect = {changed = ['added /workspace/x'], changed_since = 's'}");
  EXPECT_THAT(
      step_failure_of("run = 'touch x'\nexpect.changed = ['deleted y']"),
      HasSubstr("changed files: missing \"deleted /workspace/y\", not expected \"added /workspace/x\""));
}

TEST_F(SuiteRunner, ExpectsErrors) {
  expect_step_passes("write = {'/proc/x' = ''}\nexpect.error = 'not_a_file'");
  expect_step_passes(
      "run = 'daemon'\nsnapshot = 's'\nexpect = {error = 'not_quiet', background = ['sleep']}");
  EXPECT_THAT(step_failure_of("run = 'true'\nexpect.error = 'not_quiet'"),
              HasSubstr("should be refused with 'not_quiet'"));
  EXPECT_THAT(step_failure_of("write = {'/proc/x' = ''}\nexpect.error = 'not_quiet'"),
              HasSubstr("refused with 'not_a_file'"));
  EXPECT_THAT(step_failure_of("run = 'daemon'\nsnapshot = 's'"), HasSubstr("refused with 'not_quiet'"));
  EXPECT_THAT(step_failure_of("run = 'daemon'\nsnapshot = 's'\nexpect = {error = 'not_quiet', output = 'x'}"),
              HasSubstr("output differs"));
  EXPECT_THAT(failure_of("[[case.step]]\nrun = 'daemon'\nsnapshot = 's'\nexpect.error = 'not_quiet'\n"
                         "[[case.step]]\nfrom = 's'"),
              AllOf(StartsWith("step 2 (fork from 's')"), HasSubstr("the snapshot 's' was refused")));
}

TEST_F(SuiteRunner, PassesOptionsOn) {
  backend_.on("options", [](FakeState&, const ExecOptions& options) {
    EXPECT_EQ(options.stdin_bytes, "in");
    EXPECT_EQ(options.environment.at("A"), "1");
    EXPECT_EQ(options.wall_s_max, 2.0);
    return ended(0);
  });
  expect_step_passes("run = 'options'\nstdin = 'in'\nenv = {A = '1'}\nwall = '2s'");
  backend_.on("cp a b", prints("copied"));
  expect_step_passes("exec = ['cp', 'a', 'b']\nexpect.output = 'copied'");
}

TEST_F(SuiteRunner, StopsACaseAtItsFirstFailure) {
  EXPECT_THAT(
      failure_of("[[case.step]]\nrun = 'hi'\n[[case.step]]\nrun = 'false'\n[[case.step]]\nrun = 'touch x'"),
      StartsWith("step 2 (run 'false')"));
  EXPECT_EQ(times_run("touch x"), 0u);
}

TEST_F(SuiteRunner, ForksAndComesBack) {
  expect_pass(R"(
[[case.step]]
run = 'touch x'
snapshot = 's'
[[case.step]]
run = 'setup'
[[case.step]]
from = 's'
as = 'left'
expect = {files = {x = ''}, absent = ['base']}
[[case.step]]
run = 'cd d'
snapshot = 'deep'
[[case.step]]
from = 's'
run = 'true'
expect.cwd = '.'
[[case.step]]
from = 'deep'
run = 'true'
expect.cwd = 'd'
[[case.step]]
in = 'main'
expect.files = {x = '', base = 'b'}
[[case.step]]
in = 'left'
run = 'true'
expect = {cwd = 'd', absent = ['base']}
)");
  EXPECT_EQ(backend_.forked(), 4) << "the case itself and three forks";
}

TEST_F(SuiteRunner, RepeatsAStep) {
  backend_.on("grow", [](FakeState& state, const ExecOptions&) {
    state.files["/workspace/f"] += "x";
    return ended(state.files["/workspace/f"].size() == 5 ? 1 : 0);
  });
  expect_pass(
      "[[case.step]]\nrun = 'grow'\nsnapshot = 's'\nrepeat = 3\n"
      "[[case.step]]\nfrom = 's'\nexpect.files = {f = 'xxx'}");
  EXPECT_THAT(step_failure_of("run = 'grow'\nrepeat = 9"),
              StartsWith("step 1 (run 'grow'), time 5: expected exit"));
}

TEST_F(SuiteRunner, MakesOneBaseForCasesThatStartAlike) {
  const std::string text = R"(
[[case]]
name = 'a'
setup = ['setup']
step = [{run = 'true', expect.files = {base = 'b'}}]
[[case]]
name = 'b'
setup = ['setup']
step = [{run = 'touch x', expect.files = {base = 'b'}}]
[[case]]
name = 'c'
setup = ['setup']
step = [{run = 'true', expect.absent = ['x']}]
[[case]]
name = 'd'
setup = ['setup']
policy = {pids = 3}
step = [{run = 'true'}]
[[case]]
name = 'e'
step = [{run = 'true', expect.absent = ['base']}]
)";
  const SuiteReport report = report_of(text);
  EXPECT_EQ(report.count(CaseStatus::passed), 5u);
  EXPECT_EQ(backend_.created(), 3) << "two policies, and one setup or none";
  EXPECT_EQ(backend_.forked(), 5);
  EXPECT_EQ(times_run("setup"), 2u);
}

TEST_F(SuiteRunner, FailsEveryCaseOfASetupThatFails) {
  const std::string one = "setup = ['false']\nstep = [{run = 'true'}]\n";
  const SuiteReport report = report_of("[[case]]\nname = 'a'\n" + one + "[[case]]\nname = 'b'\n" + one);
  EXPECT_EQ(report.count(CaseStatus::failed), 2u);
  EXPECT_THAT(report.cases[1].reason, StartsWith("setup \"false\": expected exit code 0, got exit code 1"));
  EXPECT_EQ(times_run("false"), 1u);
  EXPECT_THAT(failure_of("setup = ['daemon']\n[[case.step]]\nrun = 'true'"),
              HasSubstr("snapshot of the base state"));
}

TEST_F(SuiteRunner, SetsUpEachCase_WhenTheStateCantBeForked) {
  const std::string cases = R"(
[[case]]
name = 'a'
setup = ['setup']
step = [{run = 'touch x', expect.changed = ['added base', 'added x']}]
[[case]]
name = 'b'
setup = ['setup']
step = [{run = 'true', expect.absent = ['x']}]
[[case]]
name = 'c'
setup = ['setup']
requires = ['fork']
step = [{run = 'true', snapshot = 's'}]
)";
  const SuiteReport persistent = report_of("[policy]\nshell = 'persistent'\n" + cases);
  EXPECT_EQ(persistent.count(CaseStatus::passed), 2u);
  EXPECT_EQ(persistent.cases[2].status, CaseStatus::skipped);
  EXPECT_EQ(persistent.cases[2].reason, "needs fork: a persistent shell can't be snapshotted");
  EXPECT_EQ(times_run("setup"), 2u);
  EXPECT_EQ(backend_.forked(), 0);

  backend_.refuse_snapshot(fake_error("no_fork", Fault::host));
  const SuiteReport unforkable = report_of(cases);
  EXPECT_EQ(unforkable.count(CaseStatus::passed), 2u);
  EXPECT_EQ(unforkable.cases[2].status, CaseStatus::skipped);
}

TEST_F(SuiteRunner, SkipsWhatTheHostLacks) {
  const std::string step = "\n[[case.step]]\nrun = 'true'";
  EXPECT_EQ(play("requires = ['L3']" + step).status, CaseStatus::passed);
  const CaseResult level = play("requires = ['L1', 'L2']" + step);
  EXPECT_EQ(level.status, CaseStatus::skipped);
  EXPECT_EQ(level.reason, "needs level L1 or L2, this is L3");

  const CaseResult feature = play("requires = ['cgroup']" + step);
  EXPECT_EQ(feature.status, CaseStatus::skipped);
  EXPECT_EQ(feature.reason, "needs cgroup, which this host lacks");
  EXPECT_EQ(play("requires = ['cgroup', 'fork']" + step, {.features = {"cgroup"}}).status,
            CaseStatus::passed);
}

TEST_F(SuiteRunner, SkipsWhatNamespacesGive_WhenTheLevelHasNone) {
  const std::string cases =
      "[[case]]\nname = 'a'\nrequires = ['own_tree']\n[[case.step]]\nrun = 'true'\n"
      "[[case]]\nname = 'b'\nrequires = ['shared_memory']\n[[case.step]]\nrun = 'true'\n"
      "[[case]]\nname = 'c'\n[[case.step]]\nrun = 'true'\n";
  EXPECT_EQ(report_of(cases).count(CaseStatus::passed), 3u);

  FakeBackend level1(Level::l1);
  level1.on("true", prints(""));
  const Result<Suite> suite = parse_suite(cases, "s.toml");
  ASSERT_TRUE(suite) << suite.error().to_line();
  const SuiteReport report = run_suite(*suite, level1);
  EXPECT_EQ(report.cases[0].reason, "needs own_tree, which level L1 lacks");
  EXPECT_EQ(report.cases[1].reason, "needs shared_memory, which level L1 lacks");
  EXPECT_EQ(report.cases[2].status, CaseStatus::passed);
}

TEST_F(SuiteRunner, SkipsWhatTheImageLacks) {
  backend_.on("/bin/sh -c command -v \"$1\" >/dev/null sh git", prints(""));
  expect_pass("programs = ['git']\n[[case.step]]\nrun = 'true'");
  const CaseResult result = play("programs = ['git', 'python3']\n[[case.step]]\nrun = 'true'");
  EXPECT_EQ(result.status, CaseStatus::skipped);
  EXPECT_EQ(result.reason, "the image has no 'python3'");
}

TEST_F(SuiteRunner, DoesNotTakeABrokenBackendForALack) {
  backend_.on("lost", [](FakeState&, const ExecOptions&) -> Result<ExecResult> {
    return fake_error("sandbox_lost", Fault::transient);
  });
  EXPECT_THAT(step_failure_of("run = 'lost'"), HasSubstr("refused with 'sandbox_lost'"));
  backend_.refuse_create(fake_error("level_too_low", Fault::host));
  EXPECT_EQ(step_failure_of("run = 'true'"), "creating a sandbox: it was scripted so");
}

TEST_F(SuiteRunner, FailsACaseThatLeavesItsSandboxOpen) {
  backend_.refuse_close(fake_error("still_mounted", Fault::work));
  EXPECT_THAT(step_failure_of("run = 'true'"), HasSubstr("closing the"));
}

TEST_F(SuiteRunner, RunsCasesAtTheSameTime) {
  // Each of the two waits until the other is there: one after the other, they would never end.
  std::atomic<int> arrived = 0;
  backend_.on("meet", [&arrived](FakeState&, const ExecOptions&) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
    return ended(0);
  });
  const std::string step = "step = [{run = 'meet'}]\n";
  const SuiteReport report =
      report_of("[[case]]\nname = 'a'\n" + step + "[[case]]\nname = 'b'\n" + step, {.jobs = 2});
  EXPECT_EQ(report.count(CaseStatus::passed), 2u);
}

TEST_F(SuiteRunner, ReportsEveryCaseOnceAndKeepsTheirOrder_WithManyJobs) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += "[[case]]\nname = 'c" + std::to_string(i) +
            "'\nsetup = ['setup']\npolicy = {pids = " + std::to_string(1 + i % 3) + "}\nstep = [{run = '" +
            (i % 5 == 0 ? "false" : "touch x") + "'}]\n";
  }
  std::multiset<std::string> reported;
  SuiteOptions options{.jobs = 8};
  options.on_case = [&reported](const CaseResult& result) { reported.insert(result.name); };
  const SuiteReport report = report_of(text, options);
  EXPECT_EQ(report.count(CaseStatus::failed), 40u);
  EXPECT_EQ(report.count(CaseStatus::passed), 160u);
  EXPECT_EQ(reported.size(), 200u);
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    EXPECT_EQ(report.cases[i].name, "c" + std::to_string(i));
    EXPECT_EQ(reported.count(report.cases[i].name), 1u);
  }
  EXPECT_EQ(backend_.created(), 3);
}

TEST_F(SuiteRunner, SkipsTheRest_WhenItIsToldToStop) {
  const std::string step = "step = [{run = 'hi'}]\n";
  bool stop = false;
  SuiteOptions options;
  options.on_case = [&stop](const CaseResult&) { stop = true; };
  options.stop = [&stop] { return stop; };
  const SuiteReport report =
      report_of("[[case]]\nname = 'a'\n" + step + "[[case]]\nname = 'b'\n" + step, options);
  EXPECT_EQ(report.cases[0].status, CaseStatus::passed);
  EXPECT_EQ(report.cases[1].status, CaseStatus::skipped);
  EXPECT_EQ(report.cases[1].reason, "interrupted");
}

TEST_F(SuiteRunner, MeasuresTimeByTheClockItIsGiven) {
  tests::FakeClock clock;
  backend_.on("work", [&clock](FakeState&, const ExecOptions&) {
    clock.advance(std::chrono::milliseconds(1500));
    return ended(0);
  });
  EXPECT_EQ(play("[[case.step]]\nrun = 'work'", {.clock = &clock}).wall_s, 1.5);
}

}  // namespace
}  // namespace forkpoint::sandbox
