// What every sandbox of this machine's backend must do, at each level that the machine gives.
#include "sandbox/local_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "core/file.h"
#include "core/temp_dir.h"
#include "sandbox/overlay_view.h"
#include "sandbox/tree_hash.h"
#include "tests/sandbox/traces.h"
#include "tests/support/must.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::must;

SandboxPolicy small_policy() {
  SandboxPolicy policy;
  policy.level_min = Level::l1;
  return policy;
}

// A folder for state that the sandboxes of level L1, which are other users, can pass through.
core::TempDir state_folder() {
  core::TempDir folder = must(core::TempDir::create("forkpoint-state-", "/var/tmp"));
  fs::permissions(folder.path(), fs::perms(0711));
  return folder;
}

class LocalBackendTest : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    auto started = LocalBackend::start({.level_max = GetParam(), .programs = {}, .state = {}});
    ASSERT_TRUE(started) << started.error().to_line();
    backend_ = *started;
    if (backend_->level() != GetParam()) {
      GTEST_SKIP() << "this machine gives level " << to_string(backend_->level()) << ", not "
                   << to_string(GetParam());
    }
  }

  std::unique_ptr<Sandbox> create(const SandboxPolicy& policy = small_policy()) {
    return must(backend_->create(policy));
  }

  bool own_tree() const { return GetParam() >= Level::l2; }

  static std::string output_of(Sandbox& sandbox, const std::string& command) {
    return must(sandbox.run(command)).output.text();
  }

  std::string refusal(const SandboxPolicy& policy) {
    const auto made = backend_->create(policy);
    return made ? "made" : made.error().code;
  }

  std::shared_ptr<LocalBackend> backend_;
};

INSTANTIATE_TEST_SUITE_P(Levels, LocalBackendTest, testing::Values(Level::l3, Level::l2, Level::l1),
                         [](const auto& level) { return std::string(to_string(level.param)); });

TEST_P(LocalBackendTest, KeepsStateBetweenActions) {
  const auto sandbox = create();
  EXPECT_EQ(must(sandbox->run("x=1; cd /tmp; exit 3")).exit_code, 3);
  const ExecResult result = must(sandbox->run("echo $x $PWD"));
  EXPECT_EQ(result.output.text(), "1 /tmp\n");
  EXPECT_EQ(result.cwd, "/tmp");
}

TEST_P(LocalBackendTest, KeepsOutputApart_WhenAskedTo) {
  const auto sandbox = create();
  ExecOptions options;
  options.separate_output = true;
  const ExecResult result = must(sandbox->run("echo out; echo err >&2", options));
  EXPECT_EQ(result.output.text(), "out\n");
  EXPECT_EQ(result.error_output->text(), "err\n");
}

TEST_P(LocalBackendTest, GivesInputEnvironmentAndFolder) {
  const auto sandbox = create();
  ExecOptions options;
  options.stdin_bytes = std::string("a\0b\n", 4) + std::string(300'000, 'z');
  options.environment = {{"GREETING", "it's $here"}};
  options.cwd = "/usr";
  EXPECT_EQ(must(sandbox->run("wc -c; echo \"$GREETING\"; pwd", options)).output.text(),
            "300004\nit's $here\n/usr\n");
  EXPECT_EQ(output_of(*sandbox, "echo \"[$GREETING]\""), "[]\n");
}

TEST_P(LocalBackendTest, ForksExactly) {
  const auto parent = create();
  must(parent->run("mkdir d; echo one > d/f; x=1; g() { echo g $x; }; cd d"));
  const SnapshotRef snapshot = must(parent->snapshot());
  const auto first = must(backend_->fork(snapshot));
  const auto second = must(backend_->fork(snapshot));
  must(first->run("echo two > f; x=2"));
  EXPECT_EQ(output_of(*first, "g; cat f; pwd"), "g 2\ntwo\n" + first->workspace() + "/d\n");
  EXPECT_EQ(output_of(*second, "g; cat f"), "g 1\none\n");
  EXPECT_EQ(output_of(*parent, "g; cat f"), "g 1\none\n");
  const auto third = must(backend_->fork(must(first->snapshot())));
  EXPECT_EQ(output_of(*third, "g; cat f"), "g 2\ntwo\n");
}

TEST_P(LocalBackendTest, ForksOutliveTheirBackendsHandle) {
  const auto parent = create();
  must(parent->run("echo one > f"));
  const SnapshotRef snapshot = must(parent->snapshot());
  auto fork = must(backend_->fork(snapshot));
  backend_.reset();
  EXPECT_EQ(output_of(*fork, "cat f"), "one\n");
}

TEST_P(LocalBackendTest, RefusesASnapshot_WhileSomethingLives) {
  const auto sandbox = create();
  // Until it is what it is to become: a process in the middle of exec has no command line.
  must(sandbox->run(R"(sleep 300 & echo $! > pid
until tr '\0' ' ' < /proc/$!/cmdline | grep -qx 'sleep 300 '; do :; done)"));
  const auto refused = sandbox->snapshot();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "not_quiet");
  EXPECT_THAT(refused.error().message, HasSubstr("sleep 300"));
  must(sandbox->run("kill $(cat pid); while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done"));
  EXPECT_TRUE(sandbox->snapshot());
  if (!own_tree()) return;  // there is no shared memory at L1
  must(sandbox->run("echo x > /dev/shm/x"));
  EXPECT_EQ(sandbox->snapshot().error().code, "not_quiet");
  must(sandbox->run("rm /dev/shm/x"));
  EXPECT_TRUE(sandbox->snapshot());
}

TEST_P(LocalBackendTest, GoesThroughSixtyLayers) {
  const auto sandbox = create();
  std::size_t layers_most = 0;
  for (int i = 0; i < 60; ++i) {
    must(sandbox->run("echo " + std::to_string(i) + " > f" + std::to_string(i) + "; rm -f f" +
                      std::to_string(i - 3)));
    layers_most = std::max(layers_most, must(sandbox->snapshot())->layers());
  }
  EXPECT_LE(layers_most, 48U);
  EXPECT_EQ(output_of(*sandbox, "echo *; cat f58"), "f57 f58 f59\n58\n");
}

TEST_P(LocalBackendTest, TellsWhatChanged) {
  const core::TempDir folder = must(core::TempDir::create("forkpoint-test-"));
  must(core::write_file(folder.path() / "kept", "kept"));
  must(core::write_file(folder.path() / "changed", "before"));
  must(core::write_file(folder.path() / "deleted", "x"));
  fs::permissions(folder.path(), fs::perms(0755));
  SandboxPolicy policy = small_policy();
  policy.workspace = folder.path().string();
  const auto sandbox = create(policy);
  const std::string hash_before = must(sandbox->tree_hash());
  must(sandbox->run(
      "echo after > changed; rm deleted; echo new > 'new file'; echo kept > kept; printf kept > kept"));
  const SnapshotRef snapshot = must(sandbox->snapshot());
  must(sandbox->run("chmod 600 changed"));
  const auto lines = [](const std::vector<ChangedFile>& files) {
    std::vector<std::string> found;
    for (const ChangedFile& file : files)
      found.push_back(std::string(to_string(file.kind)) + " " + file.path);
    return found;
  };
  EXPECT_THAT(lines(must(sandbox->changed_files())),
              testing::ElementsAre("modified " + sandbox->workspace() + "/changed",
                                   "deleted " + sandbox->workspace() + "/deleted",
                                   "added " + sandbox->workspace() + "/new file"));
  EXPECT_THAT(lines(must(sandbox->changed_files(snapshot))),
              testing::ElementsAre("mode " + sandbox->workspace() + "/changed"));
  EXPECT_NE(must(sandbox->tree_hash()), hash_before);
  must(sandbox->run("chmod 644 changed; printf before > changed; printf x > deleted; rm 'new file'"));
  EXPECT_EQ(must(sandbox->tree_hash()), hash_before);
  EXPECT_EQ(must(core::read_file(folder.path() / "changed")), "before") << "the original was written to";
}

TEST_P(LocalBackendTest, ReadsAndWritesFiles_FromOutside) {
  const auto sandbox = create();
  const std::string bytes = std::string("a\0\xff", 3) + std::string(1'000'000, 'q');
  must(sandbox->write_file("/workspace/f", bytes, 0750));
  EXPECT_EQ(must(sandbox->read_file("/workspace/f")), bytes);
  EXPECT_EQ(output_of(*sandbox, "stat -c '%a %s' f; [ -O f ] && echo own"), "750 1000003\nown\n");
  EXPECT_EQ(sandbox->read_file("/workspace/f", 1000).error().code, "file_too_large");
  EXPECT_EQ(sandbox->read_file("/workspace/none").error().code, "no_such_file");
  must(sandbox->run("mkfifo pipe; mkdir -p folder/inner folder/more"));
  EXPECT_EQ(sandbox->read_file("/workspace/pipe").error().code, "not_a_file");
  EXPECT_EQ(must(sandbox->list_folder("/workspace/folder")).front().name, "inner");
  EXPECT_EQ(sandbox->list_folder("/workspace/folder", 1).error().code, "too_many_entries");
}

TEST_P(LocalBackendTest, ReadsTheWholeTree_FromOutside) {
  if (!own_tree()) GTEST_SKIP() << "at L1 only the state's own folders can be read from outside";
  const auto sandbox = create();
  EXPECT_EQ(sandbox->read_file("/dev/zero").error().code, "not_a_file");
  EXPECT_EQ(sandbox->read_file("/proc/1/status").error().code, "not_a_file");
  must(sandbox->run("ln -s /etc/hostname link; ln -s /proc/self/root/etc/hostname magic"));
  EXPECT_EQ(must(sandbox->read_file("/workspace/link")), "sandbox\n");
  EXPECT_EQ(sandbox->read_file("/workspace/magic").error().code, "link_refused");
}

TEST_P(LocalBackendTest, NeverReadsTheMachinesFiles_WhileLinksRace) {
  const core::TempDir secret = must(core::TempDir::create("forkpoint-secret-"));
  must(core::write_file(secret.path() / "f", "secret"));
  const auto sandbox = create();
  const std::string target = secret.path().string();
  // `d` is by turns a folder and a link to the machine's folder of that name.
  must(sandbox->run("mkdir real; echo inside > real/f; (while :; do ln -sfn '" + target +
                    "' d; ln -sfn ../../../.." + target + " d; ln -sfn real d; done) >/dev/null 2>&1 &"));
  std::atomic<int> inside = 0;
  const auto read_many = [&] {
    constexpr int successes_wanted = 200;
    for (int i = 0; i < 100'000 && inside < successes_wanted; ++i) {
      const auto bytes = sandbox->read_file("/workspace/d/f");
      if (bytes) {
        EXPECT_EQ(*bytes, "inside\n");
        ++inside;
      }
    }
  };
  std::thread other(read_many);
  read_many();
  other.join();
  EXPECT_GE(inside, 200);
}

TEST_P(LocalBackendTest, KillsOnlyTheTreeThatTimedOut) {
  const auto sandbox = create();
  must(sandbox->run("sleep 301 & sleep 0.2"));
  ExecOptions options;
  options.wall_s_max = 0.5;
  const ExecResult result = must(sandbox->run(
      "echo start; (sleep 302 & sleep 302) & setsid sleep 302 & sleep 302; echo never", options));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.limit, LimitKind::wall);
  EXPECT_EQ(result.output.text(), "start\n");
  std::vector<std::string> alive;
  for (const auto& process : must(sandbox->processes())) alive.push_back(process.command);
  EXPECT_THAT(alive, testing::ElementsAre("sleep 301"));
}

TEST_P(LocalBackendTest, CountsAFlood_AndEndsIt) {
  const auto sandbox = create();
  ExecOptions options;
  options.output_bytes_max = 1000;
  const ExecResult counted = must(sandbox->run("head -c 50000 /dev/zero | tr '\\0' x; echo TAIL", options));
  EXPECT_EQ(counted.output.bytes_total, 50005U);
  EXPECT_EQ(counted.output.head.size() + counted.output.tail.size(), 1000U);
  EXPECT_TRUE(counted.output.tail.ends_with("xTAIL\n"));
  const ExecResult flood = must(sandbox->run("cat /dev/zero", options));
  EXPECT_EQ(flood.limit, LimitKind::output);
  EXPECT_EQ(output_of(*sandbox, "echo usable"), "usable\n");
}

TEST_P(LocalBackendTest, LimitsTheDisk) {
  SandboxPolicy policy = small_policy();
  policy.limits.disk_bytes_max = 20 << 20;
  const auto sandbox = create(policy);
  EXPECT_EQ(must(sandbox->run("head -c 10M /dev/zero > small")).limit, std::nullopt);
  EXPECT_EQ(must(sandbox->run("head -c 200M /dev/zero > large; sleep 5")).limit, LimitKind::disk);
  EXPECT_EQ(must(sandbox->run("rm -f large; echo usable")).output.text(), "usable\n");
}

TEST_P(LocalBackendTest, RefusesWhatCantBe) {
  SandboxPolicy policy = small_policy();
  policy.image = "/no/such/image";
  EXPECT_EQ(refusal(policy), own_tree() ? "no_such_image" : "level_too_low");
  policy = small_policy();
  policy.workspace = "/no/such/folder";
  EXPECT_EQ(refusal(policy), "no_such_workspace");
  policy.workspace = "/etc/hostname";
  EXPECT_EQ(refusal(policy), "bad_workspace");
  policy = small_policy();
  policy.limits.memory_bytes_max = 0;
  EXPECT_EQ(refusal(policy), "bad_limit");
  policy = small_policy();
  policy.limits.wall_s_max = 1e30;
  EXPECT_EQ(refusal(policy), "bad_limit");
  const auto sandbox = create();
  EXPECT_EQ(sandbox->run(std::string_view("echo a\0b", 8)).error().code, "bad_command");
  EXPECT_EQ(sandbox->run(std::string(10 << 20, 'x')).error().code, "command_too_long");
  EXPECT_EQ(sandbox->exec({}).error().code, "bad_command");
  EXPECT_EQ(sandbox->exec({"/no/such/program"}).error().code, "no_such_program");
  ExecOptions options;
  options.cwd = "/no/such/folder";
  EXPECT_EQ(sandbox->run("true", options).error().code, "no_such_cwd");
  options = {};
  options.wall_s_max = 0;
  EXPECT_EQ(sandbox->run("true", options).error().code, "bad_limit");
  EXPECT_EQ(output_of(*sandbox, "echo usable"), "usable\n");
}

TEST_P(LocalBackendTest, RunsACommandLongerThanAnArgumentMayBe) {
  const auto sandbox = create();
  EXPECT_EQ(output_of(*sandbox, "x=1 # " + std::string(500'000, 'c') + "\necho $x"), "1\n");
  EXPECT_EQ(output_of(*sandbox, "echo $x"), "1\n");
}

TEST_P(LocalBackendTest, SaysThatTheShellsFolderIsGone) {
  const auto sandbox = create();
  must(sandbox->run("mkdir -p a/b; cd a/b"));
  must(sandbox->run("rmdir ../b"));
  const ExecResult result = must(sandbox->run("pwd"));
  EXPECT_THAT(result.output.text(), HasSubstr("/workspace/a/b"));
  EXPECT_THAT(result.output.text(), testing::EndsWith("/workspace/a\n"));
  EXPECT_EQ(result.cwd, sandbox->workspace() + "/a");
}

TEST_P(LocalBackendTest, LeaksNothing_OverManyCycles) {
  const core::TempDir state = state_folder();
  auto backend =
      must(LocalBackend::start({.level_max = GetParam(), .programs = {}, .state = state.path() / "s"}));
  const auto cycle = [&](int i) {
    const auto sandbox = must(backend->create(small_policy()));
    if (i % 10 == 0) {
      must(sandbox->run("echo x > f; sleep 300 & :"));
    } else if (i % 10 == 1) {
      must(sandbox->run("echo x > f"));
      must(must(backend->fork(must(sandbox->snapshot())))->run("cat f"));
    }
  };
  for (int i = 0; i < 20; ++i) cycle(i);
  tests::Traces before;
  ASSERT_TRUE(tests::becomes_true([&] {
    before = tests::traces_of(backend->launcher_pid());
    return before.live_folders == 0;
  })) << before;
  // At the weaker levels, which share the code, a part is enough.
  const int cycles = GetParam() == Level::l3 ? 2000 : 200;
  for (int i = 0; i < cycles; ++i) cycle(i);
  const tests::Traces after = tests::wait_for_traces(backend->launcher_pid(), before);
  EXPECT_EQ(after, before);
  backend.reset();
  EXPECT_TRUE(tests::becomes_true([&] { return fs::is_empty(state.path() / "s"); })) << "files stay behind";
}

TEST_P(LocalBackendTest, ServesManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const auto sandbox = create();
        const std::string text = std::to_string(t * 100 + i);
        if (output_of(*sandbox, "echo " + text) == text + "\n") ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

// The machine's folders are mounted below the launcher's state folder while it lives; whoever cleans up after
// it must never follow there.
TEST_P(LocalBackendTest, LeavesTheMachinesFilesAlone_WhenTheLauncherIsKilled) {
  const core::TempDir folder = state_folder();
  must(core::write_file(folder.path() / "workspace" / "file", "kept"));
  SandboxPolicy policy = small_policy();
  policy.workspace = (folder.path() / "workspace").string();
  auto backend =
      must(LocalBackend::start({.level_max = GetParam(), .programs = {}, .state = folder.path() / "state"}));
  const auto sandbox = must(backend->create(policy));
  must(sandbox->run("echo changed > file"));
  ASSERT_EQ(kill(backend->launcher_pid(), SIGKILL), 0);
  EXPECT_TRUE(tests::becomes_true([&] { return fs::is_empty(folder.path() / "state"); }))
      << "files stay behind";
  EXPECT_EQ(must(core::read_file(folder.path() / "workspace" / "file")), "kept");
}

// Without the fixture's backend, whose thread a forked child would lose in the middle of whatever it does.
class AbandonedBackendTest : public testing::TestWithParam<Level> {
 protected:
  // What the client does in its process: tells its launcher's pid (-1: it could not start), and waits for its
  // end.
  [[noreturn]] static void be_client(const fs::path& state, int tell) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto backend = LocalBackend::start({.level_max = GetParam(), .programs = {}, .state = state});
    auto sandbox = backend ? (*backend)->create(small_policy()) : backend.error();
    const bool ready = sandbox && (*sandbox)->run("sleep 300 & echo x > f");
    const pid_t launcher = ready ? (*backend)->launcher_pid() : -1;
    (void)!write(tell, &launcher, sizeof launcher);
    for (;;) pause();
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, AbandonedBackendTest, testing::Values(Level::l3, Level::l2, Level::l1),
                         [](const auto& level) { return std::string(to_string(level.param)); });

TEST_P(AbandonedBackendTest, EndsEverything_WhenTheClientIsKilled) {
  const core::TempDir folder = state_folder();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t client = fork();
  if (client == 0) be_client(folder.path() / "state", told[1]);
  close(told[1]);
  pid_t launcher = -1;
  const bool answered = read(told[0], &launcher, sizeof launcher) == static_cast<ssize_t>(sizeof launcher);
  close(told[0]);
  const fs::path cwd = "/proc/" + std::to_string(launcher) + "/cwd";
  const std::string id = launcher > 0 ? fs::read_symlink(cwd).filename().string() : "";
  kill(client, SIGKILL);
  waitpid(client, nullptr, 0);
  ASSERT_TRUE(answered) << "the client ended before it could tell";
  ASSERT_GT(launcher, 0) << "the client could not start";
  EXPECT_TRUE(tests::becomes_true([&] { return kill(launcher, 0) != 0; })) << "the launcher lives on";
  EXPECT_TRUE(tests::becomes_true([&] { return tests::cgroups_of("forkpoint-" + id) == 0; }))
      << "cgroups stay behind";
  EXPECT_TRUE(tests::becomes_true([&] { return fs::is_empty(folder.path() / "state"); }))
      << "files stay behind";
}

// One random edit of a tree, as a command that does the same inside a sandbox and in a plain folder.
rc::Gen<std::string> any_edit() {
  const auto name = rc::gen::elementOf(std::vector<std::string>{"a", "b", "d", "e/f", "d/g", "e", "'x y'"});
  return rc::gen::mapcat(rc::gen::pair(name, name), [](const std::pair<std::string, std::string>& names) {
    const auto& [one, two] = names;
    return rc::gen::elementOf(std::vector<std::string>{
        "echo " + one + " > " + two, "echo more >> " + one, "mkdir -p " + one, "rm -rf " + one,
        "mv -T " + one + " " + two, "ln -s " + one + " " + two, "ln " + one + " " + two, "chmod 600 " + one,
        "cp -r " + one + " " + two, "rm -rf " + one + "; mkdir " + one});
  });
}

TEST_P(LocalBackendTest, ForksAreFullCopies) {
  rc::check("after any edits, forked anywhere", [this] {
    const core::TempDir folder = must(core::TempDir::create("forkpoint-copies-"));
    std::vector<std::unique_ptr<Sandbox>> sandboxes;
    sandboxes.push_back(create());
    const auto copy_of = [&](std::size_t i) { return (folder.path() / std::to_string(i)).string(); };
    fs::create_directory(copy_of(0));
    const int steps = *rc::gen::inRange(1, 12);
    for (int step = 0; step < steps; ++step) {
      const auto at = *rc::gen::inRange<std::size_t>(0, sandboxes.size());
      if (*rc::gen::inRange(0, 4) == 0 && sandboxes.size() < 4) {
        const std::size_t fork = sandboxes.size();
        sandboxes.push_back(must(backend_->fork(must(sandboxes[at]->snapshot()))));
        RC_ASSERT(std::system(("cp -a " + copy_of(at) + " " + copy_of(fork)).c_str()) == 0);
        continue;
      }
      const std::string edit = "(" + *any_edit() + ") 2>/dev/null";
      const int inside = must(sandboxes[at]->run(edit)).shell_status();
      const int outside = std::system(("cd " + copy_of(at) + "; umask 022; " + edit).c_str());
      RC_ASSERT((inside == 0) == (outside == 0));
    }
    for (std::size_t i = 0; i < sandboxes.size(); ++i) {
      const auto copy = must(tree_hash(OverlayView({copy_of(i)}, OverlayXattrs::user), {}));
      TreeHashOptions options;
      options.leave_out = {};
      RC_ASSERT(must(sandboxes[i]->tree_hash(options)) == copy.to_hex());
    }
  });
}

TEST_P(LocalBackendTest, SaysThatTheLauncherDied) {
  const auto sandbox = create();
  const SnapshotRef snapshot = must(sandbox->snapshot());
  ASSERT_EQ(kill(backend_->launcher_pid(), SIGKILL), 0);
  const auto lost = sandbox->run("true");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, "sandbox_lost");
  EXPECT_EQ(lost.error().fault, Fault::transient);
  EXPECT_EQ(backend_->create(small_policy()).error().code, "sandbox_lost");
  EXPECT_EQ(backend_->fork(snapshot).error().code, "sandbox_lost");
}

}  // namespace
}  // namespace forkpoint::sandbox
