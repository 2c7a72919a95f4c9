// What holds at level L1 alone: a machine that is shared, and what of it must stay out of reach.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>

#include "core/file.h"
#include "core/temp_dir.h"
#include "sandbox/local_backend.h"
#include "tests/sandbox/traces.h"
#include "tests/support/must.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using tests::must;

SandboxPolicy level1_policy() {
  SandboxPolicy policy;
  policy.level_min = Level::l1;
  return policy;
}

class LandlockLevelTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = LocalBackend::start({.level_max = Level::l1, .programs = {}, .state = {}});
    if (!started) GTEST_SKIP() << started.error().to_line();
    backend_ = *started;
    sandbox_ = must(backend_->create(level1_policy()));
  }

  std::string output_of(const std::string& command) { return must(sandbox_->run(command)).output.text(); }
  // As far as a sandbox is a user of its own.
  static bool is_root() { return geteuid() == 0; }

  std::shared_ptr<LocalBackend> backend_;
  std::unique_ptr<Sandbox> sandbox_;
};

// A process of the machine that waits for its end.
class Outsider {
 public:
  Outsider() : pid_(fork()) {
    if (pid_ == 0) {
      setsid();
      for (;;) pause();
    }
  }
  ~Outsider() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Outsider(const Outsider&) = delete;
  Outsider& operator=(const Outsider&) = delete;

  std::string pid() const { return std::to_string(pid_); }
  bool lives() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_;
};

TEST_F(LandlockLevelTest, IsRefused_WhenMoreIsDemanded) {
  EXPECT_EQ(backend_->level(), Level::l1);
  SandboxPolicy policy;  // demands L2
  const auto refused = backend_->create(policy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "level_too_low");
  EXPECT_EQ(refused.error().fault, Fault::host);
}

TEST_F(LandlockLevelTest, RefusesImages_SayingWhatToDo) {
  SandboxPolicy policy = level1_policy();
  policy.image = "oci:/some/image";
  const auto refused = backend_->create(policy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "level_too_low");
  EXPECT_EQ(refused.error().fault, Fault::host);
  EXPECT_THAT(refused.error().message, HasSubstr("oci:/some/image"));
  EXPECT_THAT(refused.error().advice, HasSubstr("--image host"));
}

TEST_F(LandlockLevelTest, SaysWhereTheWorkspaceIs) {
  EXPECT_EQ(output_of("pwd; echo $PWD"), sandbox_->workspace() + "\n" + sandbox_->workspace() + "\n");
  EXPECT_THAT(sandbox_->workspace(), testing::EndsWith("/root/workspace"));
  EXPECT_EQ(output_of("cd ..; ls; cd ~; pwd; cd \"$TMPDIR\"; pwd"),
            "home\ntmp\nworkspace\n" + fs::path(sandbox_->workspace()).parent_path().string() + "/home\n" +
                fs::path(sandbox_->workspace()).parent_path().string() + "/tmp\n");
}

TEST_F(LandlockLevelTest, TakesPathsOfOtherLevels) {
  must(sandbox_->write_file("/workspace/f", "one"));
  must(sandbox_->write_file("/tmp/g", "two"));
  EXPECT_EQ(output_of("cat f $TMPDIR/g"), "onetwo");
  EXPECT_EQ(must(sandbox_->read_file(sandbox_->workspace() + "/f")), "one");
  ExecOptions options;
  options.cwd = "/workspace/d";
  must(sandbox_->run("mkdir d"));
  EXPECT_EQ(must(sandbox_->run("pwd", options)).output.text(), sandbox_->workspace() + "/d\n");
  TreeHashOptions of_folder;
  of_folder.root = "/workspace/d";
  TreeHashOptions by_real_path;
  by_real_path.root = sandbox_->workspace() + "/d";
  EXPECT_EQ(must(sandbox_->tree_hash(of_folder)), must(sandbox_->tree_hash(by_real_path)));
}

TEST_F(LandlockLevelTest, ReadsNothingElse_FromOutside) {
  for (const char* path :
       {"/etc/hostname", "/dev/zero", "/proc/1/status", "/workspace/../../../../etc/hostname",
        "/workspace/link", "/workspace/magic", "/workspace/up"}) {
    must(
        sandbox_->run("ln -sfn /etc/hostname link; ln -sfn /proc/self/root/etc/hostname magic; "
                      "ln -sfn ../../../../../../../../etc/hostname up"));
    const auto bytes = sandbox_->read_file(path);
    ASSERT_FALSE(bytes) << path;
    EXPECT_EQ(bytes.error().fault, Fault::input) << path;
  }
}

TEST_F(LandlockLevelTest, WritesNothingOutside) {
  const core::TempDir outside = must(core::TempDir::create("forkpoint-outside-"));
  fs::permissions(outside.path(), fs::perms(0777));
  const std::string file = (outside.path() / "f").string();
  must(core::write_file(file, "kept"));
  fs::permissions(file, fs::perms(0666));
  must(sandbox_->run("echo x > " + file + "; echo x >> " + file + "; rm -f " + file + "; truncate -s 0 " +
                     file + "; mv " + file + " mine; ln " + file + " mine; echo y > " +
                     outside.path().string() + "/new; mkdir " + outside.path().string() +
                     "/d; cp /bin/true " + outside.path().string() + "; ln -s . " + outside.path().string() +
                     "/l; mkfifo " + outside.path().string() +
                     "/p; : > /proc/self/oom_score_adj; echo x > /dev/shm/forkpoint-x"));
  EXPECT_EQ(must(core::read_file(file)), "kept");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside.path()), fs::directory_iterator()), 1);
  EXPECT_FALSE(fs::exists("/dev/shm/forkpoint-x"));
  EXPECT_EQ(output_of("ls; cat " + file + " 2>/dev/null"), "") << "read, or left in the workspace";
}

TEST_F(LandlockLevelTest, LeavesModesAndTimesOutsideAlone_WhenASandboxIsAUserOfItsOwn) {
  if (!is_root()) GTEST_SKIP() << "without root a sandbox is the same user";
  const core::TempDir outside = must(core::TempDir::create("forkpoint-outside-"));
  fs::permissions(outside.path(), fs::perms(0755));
  const std::string file = (outside.path() / "f").string();
  must(core::write_file(file, "kept"));
  struct stat before {};
  ASSERT_EQ(stat(file.c_str(), &before), 0);
  must(sandbox_->run("chmod 777 " + file + "; chown $UID " + file + "; touch -d 2001-01-01 " + file));
  struct stat after {};
  ASSERT_EQ(stat(file.c_str(), &after), 0);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
}

TEST_F(LandlockLevelTest, SignalsNobodyOutside) {
  const Outsider outsider;
  const std::string client = std::to_string(getpid());
  const std::string launcher = std::to_string(backend_->launcher_pid());
  must(sandbox_->run("x=1"));
  // Init is the parent of the shell's supervisor.
  const std::string text = output_of(
      "init=$(cut -d' ' -f4 /proc/$PPID/stat); keeper=$(cut -d' ' -f4 /proc/$init/stat)\n"
      "for p in " +
      outsider.pid() + " " + client + " " + launcher +
      " $init $keeper; do\n"
      "  for s in 9 STOP TERM 0; do\n"
      "    kill -$s $p 2>/dev/null && echo signalled $p; kill -$s -- -$p 2>/dev/null && echo signalled group "
      "$p\n"
      "  done\n"
      "  prlimit --pid $p --cpu=1 >/dev/null 2>&1 && echo limited $p\n"
      "done\nkill -9 -1 2>/dev/null && echo all\necho done");
  EXPECT_EQ(text, "done\n");
  EXPECT_TRUE(outsider.lives());
  EXPECT_EQ(output_of("echo $x"), "1\n");
}

TEST_F(LandlockLevelTest, SignalsItsOwn_AcrossActions) {
  must(sandbox_->run("sleep 300 & echo $! > pid"));
  EXPECT_EQ(
      output_of("kill $(cat pid) && while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done; echo ended"),
      "ended\n");
}

TEST_F(LandlockLevelTest, LooksIntoNobodyOutside) {
  const Outsider outsider;
  EXPECT_EQ(
      output_of("for f in environ mem maps; do head -c 1 /proc/" + outsider.pid() + "/$f; head -c 1 /proc/" +
                std::to_string(getpid()) + "/$f; done 2>/dev/null; readlink /proc/" + outsider.pid() +
                "/{cwd,root,exe}; echo done"),
      "done\n");
}

TEST_F(LandlockLevelTest, SeesNothingOfOtherSandboxes) {
  must(sandbox_->run("echo secret > f; chmod 777 f . 2>/dev/null"));
  const auto other = must(backend_->create(level1_policy()));
  const std::string theirs = sandbox_->workspace();
  const std::string command =
      "(cat " + theirs + "/f; ls " + theirs + "; echo x > " + theirs + "/g) 2>/dev/null; echo done";
  EXPECT_EQ(must(other->run(command)).output.text(), "done\n");
  EXPECT_EQ(output_of("ls"), "f\n");
}

// Session buses, agents for keys and container engines listen on sockets that belong to the user.
TEST_F(LandlockLevelTest, ReachesNoSocketOfItsUser) {
  if (is_root()) GTEST_SKIP() << "root's sandboxes are users of their own";
  const core::TempDir outside = must(core::TempDir::create("forkpoint-outside-"));
  const std::string path = (outside.path() / "socket").string();
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(server, 1), 0);
  EXPECT_EQ(output_of("python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('" + path +
                      "')\" 2>&1 | tail -1"),
            "PermissionError: [Errno 13] Permission denied\n");
  close(server);
}

TEST_F(LandlockLevelTest, HasNoSharedMemoryByKey) {
  EXPECT_EQ(
      output_of("ipcmk -M 4096 >/dev/null 2>&1 || ipcmk -S 1 >/dev/null 2>&1 || ipcmk -Q >/dev/null 2>&1 || "
                "echo none"),
      "none\n");
}

TEST_F(LandlockLevelTest, RefusesASnapshot_WhileAFileIsBeingWritten) {
  must(sandbox_->write_file("/workspace/f", "x"));
  const int writing = open((sandbox_->workspace() + "/f").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(writing, 0);
  const auto refused = sandbox_->snapshot();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "still_written");
  EXPECT_THAT(refused.error().message, HasSubstr("/workspace/f"));
  close(writing);
  EXPECT_TRUE(sandbox_->snapshot());
}

TEST_F(LandlockLevelTest, CopiesTheWorkspace_WithAllThatFilesHave) {
  const core::TempDir folder = must(core::TempDir::create("forkpoint-test-"));
  const std::string path = folder.path().string();
  ASSERT_EQ(
      std::system(
          ("cd " + path +
           " && mkdir d && echo 1 > d/a && ln d/a d/b && ln -s d/a l && chmod 600 d/a && truncate -s 50M hole"
           " && touch -d 2001-01-01 d/a d && mkfifo p")
              .c_str()),
      0);
  SandboxPolicy policy = level1_policy();
  policy.workspace = path;
  const auto sandbox = must(backend_->create(policy));
  const std::string look =
      "stat -c '%n %a %h %Y %F' d d/a; stat -c '%n %F' p; [ d/a -ef d/b ] && echo linked; readlink l; "
      "[ $(du -m hole | cut -f1) -lt 5 ] && stat -c %s hole";
  const std::string expected =
      "d 755 2 978307200 directory\nd/a 600 2 978307200 regular file\np fifo\nlinked\nd/a\n52428800\n";
  EXPECT_EQ(must(sandbox->run(look)).output.text(), expected);
  const auto fork = must(backend_->fork(must(sandbox->snapshot())));
  EXPECT_EQ(must(fork->run(look)).output.text(), expected);
  EXPECT_THAT(must(fork->changed_files()), testing::IsEmpty());
}

TEST_F(LandlockLevelTest, MovesTheShellsPaths_IntoAFork) {
  must(sandbox_->run(
      "mkdir a b; here=$PWD/a; cd a; pushd ../b; f() { echo $here; }; cd /usr; cd - >/dev/null"));
  const auto fork = must(backend_->fork(must(sandbox_->snapshot())));
  const std::string workspace = fork->workspace();
  EXPECT_NE(workspace, sandbox_->workspace());
  const std::string root = fs::path(workspace).parent_path().string();
  EXPECT_EQ(must(fork->run("pwd; f; echo $HOME $TMPDIR $OLDPWD; dirs -l -p")).output.text(),
            workspace + "/b\n" + workspace + "/a\n" + root + "/home " + root + "/tmp /usr\n" + workspace +
                "/b\n" + workspace + "/a\n");
  EXPECT_EQ(output_of("pwd; f"), sandbox_->workspace() + "/b\n" + sandbox_->workspace() + "/a\n");
}

// Processes that have left their parents and their session in every way.
constexpr char kDaemons[] =
    "setsid sleep 300 & (setsid setsid sleep 300 &) ; (trap '' TERM HUP; sleep 300) & "
    "bash -c 'kill -STOP $$' & sleep 300 & :";

// The pids that the sandbox tells of are those of the machine.
std::set<pid_t> start_daemons(Sandbox& sandbox) {
  std::set<pid_t> pids;
  for (const BackgroundProcess& process : must(sandbox.run(kDaemons)).background)
    pids.insert(static_cast<pid_t>(process.pid));
  return pids;
}

bool all_end(const std::set<pid_t>& pids) {
  return tests::becomes_true(
      [&] { return std::none_of(pids.begin(), pids.end(), [](pid_t pid) { return kill(pid, 0) == 0; }); });
}

TEST_F(LandlockLevelTest, EndsAllProcesses_WithTheSandbox) {
  const std::set<pid_t> pids = start_daemons(*sandbox_);
  EXPECT_GE(pids.size(), 5U);
  must(sandbox_->close());
  EXPECT_TRUE(std::none_of(pids.begin(), pids.end(), [](pid_t pid) { return kill(pid, 0) == 0; }));
}

TEST_F(LandlockLevelTest, EndsAllProcesses_WhenTheLauncherIsKilled) {
  const std::set<pid_t> pids = start_daemons(*sandbox_);
  const std::string folder = fs::path(sandbox_->workspace()).parent_path().parent_path().string();
  ASSERT_EQ(kill(backend_->launcher_pid(), SIGKILL), 0);
  EXPECT_TRUE(all_end(pids));
  EXPECT_TRUE(tests::becomes_true([&] { return !fs::exists(folder); })) << "files stay behind";
}

TEST_F(LandlockLevelTest, EndsAllProcesses_WhenInitIsKilled) {
  const std::set<pid_t> pids = start_daemons(*sandbox_);
  const std::string init = output_of("cut -d' ' -f4 /proc/$PPID/stat");
  ASSERT_EQ(kill(std::stoi(init), SIGKILL), 0);
  EXPECT_TRUE(all_end(pids));
  EXPECT_EQ(sandbox_->run("true").error().code, "sandbox_lost");
}

}  // namespace
}  // namespace forkpoint::sandbox
