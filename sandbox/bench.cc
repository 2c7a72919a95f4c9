#include "sandbox/bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/check.h"
#include "core/file.h"
#include "core/temp_dir.h"
#include "core/unique_fd.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;
using core::Contender;
using core::RatioRow;

// What a sandbox gives its actions: a locale above all costs a shell at its start, with us and without.
const char* const kEnvironment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                    "HOME=/root", "LANG=C.UTF-8", "TZ=UTC", nullptr};

// As execve wants them.
std::vector<char*> argument_pointers(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Runs a program of the machine to its end, its output thrown away.
void run_program(const std::vector<std::string>& arguments) {
  const std::vector<char*> pointers = argument_pointers(arguments);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  pid_t pid = -1;
  const int rc = posix_spawnp(&pid, pointers.front(), &actions, nullptr, pointers.data(),
                              const_cast<char* const*>(kEnvironment));
  posix_spawn_file_actions_destroy(&actions);
  FORKPOINT_CHECK(rc == 0, "a peer that was found can't be started");
  int status = -1;
  waitpid(pid, &status, 0);
  FORKPOINT_CHECK(status == 0, "a peer fails at what it is measured with");
}

bool runs(const std::vector<std::string>& arguments) {
  pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) dup2(null, fd);
    const std::vector<char*> pointers = argument_pointers(arguments);
    execvp(pointers.front(), pointers.data());
    _exit(127);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0;
}

// A measurement can't go on without its subject: what fails here failed on the first try too, which reports
// it.
void must(const Result<ExecResult>& result) {
  FORKPOINT_CHECK(result.has_value() && result->exit_code == 0, "a sandbox failed while it was measured");
}

class Bench {
 public:
  Bench(Backend& backend, const BenchOptions& options) : backend_(backend), options_(options) {
    policy_.level_min = Level::l1;
    policy_.limits.memory_bytes_max = std::uint64_t{1} << 30;
    policy_.limits.disk_bytes_max = std::uint64_t{4} << 30;
    policy_.limits.wall_s_max = 300;
    policy_.limits.cpu_time_s_max = 300;
  }

  Result<std::vector<BenchRow>> run() {
    FORKPOINT_RETURN_IF_ERROR(try_first());
    measure_creation();
    measure_actions();
    FORKPOINT_RETURN_IF_ERROR(measure_forks());
    return std::move(rows_);
  }

 private:
  Result<void> try_first() {
    FORKPOINT_ASSIGN_OR_RETURN(const auto sandbox, backend_.create(policy_));
    FORKPOINT_RETURN_IF_ERROR(sandbox->run("true"));
    return sandbox->close();
  }

  void add(const Contender& ours, const std::vector<std::string>& peer, int repeats,
           std::optional<double> bar, std::function<void()> clean_up_peer = {}) {
    if (options_.on_row) options_.on_row(ours.name);
    const bool there = !peer.empty() && runs(peer);
    if (clean_up_peer && there) clean_up_peer();
    std::string name;
    for (const std::string& word : peer)
      name += (name.empty() ? "" : " ") + (fs::path(word).is_absolute() && word.size() > 8 ? "PATH" : word);
    const Contender other{there ? name : "",
                          there ? std::function<void()>([&peer] { run_program(peer); }) : [] {},
                          clean_up_peer};
    BenchRow row{
        .ratio = core::measure_ratio(ours, other, {.repeats = repeats}), .has_peer = there, .bar = bar};
    if (!there) row.ratio.peer = peer.empty() ? "" : peer.front() + " (not here)";
    rows_.push_back(std::move(row));
  }

  void measure_creation() {
    const auto cycle = [this] {
      const auto sandbox = backend_.create(policy_);
      FORKPOINT_CHECK(sandbox.has_value(), "a sandbox can't be made while it is measured");
      must((*sandbox)->exec({"true"}));
    };
    const Contender ours{"create, true, destroy", cycle};
    add(ours, {"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"},
        options_.repeats, 0.5);
    add(ours, {"unshare", "-Urmpiuf", "true"}, options_.repeats, {});
    std::unique_ptr<Sandbox> made;
    add({"create", [&] { made = std::move(*backend_.create(policy_)); }, [&] { made.reset(); }}, {},
        options_.repeats, {});
    made = std::move(*backend_.create(policy_));
    add({"destroy", [&] { made.reset(); }, [&] { made = std::move(*backend_.create(policy_)); }}, {},
        options_.repeats, {});
  }

  void measure_actions() {
    const auto sandbox = std::move(*backend_.create(policy_));
    must(sandbox->run("x=1; f() { :; }; cd /tmp"));
    add({"exec true", [&] { must(sandbox->exec({"true"})); }}, {"true"}, options_.repeats, {});
    add({"bash with state: true", [&] { must(sandbox->run("true")); }}, {"bash", "-c", "true"},
        options_.repeats, 1.6);
    add({"bash with state: /bin/true", [&] { must(sandbox->run("/bin/true")); }},
        {"bash", "-c", "/bin/true; :"}, options_.repeats, {});
  }

  // A tree of files of equal size, a hundred in a folder.
  static Result<void> make_tree(const fs::path& root, int files, int bytes) {
    const std::string content(static_cast<std::size_t>(bytes), 'x');
    for (int i = 0; i < files; ++i) {
      const fs::path path = root / ("d" + std::to_string(i / 100)) / ("f" + std::to_string(i));
      FORKPOINT_RETURN_IF_ERROR(core::make_folders(path.parent_path()));
      const core::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
      FORKPOINT_RETURN_IF_ERROR(core::write_all(fd.get(), content, path));
    }
    return {};
  }

  // A snapshot whose layer holds the tree: written inside, not only seen.
  Result<SnapshotRef> snapshot_of(const fs::path& tree) {
    SandboxPolicy policy = policy_;
    policy.workspace = tree.string();
    FORKPOINT_ASSIGN_OR_RETURN(const auto sandbox, backend_.create(policy));
    FORKPOINT_ASSIGN_OR_RETURN(const ExecResult copied, sandbox->run("cp -a /workspace /root/state"));
    if (copied.exit_code != 0)
      return Error{.boundary = Boundary::sandbox,
                   .code = "bench_failed",
                   .message = "a tree can't be copied: " + copied.output.text()};
    return sandbox->snapshot();
  }

  Result<void> measure_forks() {
    FORKPOINT_ASSIGN_OR_RETURN(const core::TempDir folder,
                               core::TempDir::create("forkpoint-bench-", "/var/tmp"));
    FORKPOINT_RETURN_IF_ERROR(make_tree(folder.path() / "small", options_.small_files, options_.file_bytes));
    FORKPOINT_RETURN_IF_ERROR(make_tree(folder.path() / "large", options_.large_files, options_.file_bytes));
    FORKPOINT_ASSIGN_OR_RETURN(const SnapshotRef small, snapshot_of(folder.path() / "small"));
    FORKPOINT_ASSIGN_OR_RETURN(const SnapshotRef large, snapshot_of(folder.path() / "large"));
    std::unique_ptr<Sandbox> made;
    const auto fork_of = [&](const SnapshotRef& snapshot) {
      return [&made, &snapshot, this] {
        made = std::move(*backend_.fork(snapshot));
        must(made->exec({"true"}));
      };
    };
    const auto drop = [&made] { made.reset(); };
    const std::string large_name = std::to_string(options_.large_files);
    const std::string copy = (folder.path() / "copy").string();
    add({"fork of " + large_name + " files, to first true", fork_of(large), drop},
        {"cp", "-a", (folder.path() / "large").string(), copy}, options_.copy_repeats, 1.0 / 200,
        [&copy] { (void)core::remove_tree(copy); });
    if (options_.on_row) options_.on_row("fork, large against small");
    RatioRow growth = core::measure_ratio(
        {"fork of " + large_name + " files", fork_of(large), drop},
        {"fork of " + std::to_string(options_.small_files) + " files", fork_of(small), drop},
        {.repeats = options_.repeats});
    rows_.push_back({.ratio = std::move(growth), .has_peer = true, .bar = 1.2});
    measure_snapshots(large);
    return {};
  }

  void measure_snapshots(const SnapshotRef& base) {
    std::unique_ptr<Sandbox> parent;
    SnapshotRef taken;
    const auto renew = [&] {
      taken.reset();
      parent = std::move(*backend_.fork(base));
      must(parent->run("echo new > /root/new"));
    };
    renew();
    add({"snapshot", [&] { taken = *parent->snapshot(); }, renew}, {}, options_.repeats, {});
  }

  Backend& backend_;
  const BenchOptions& options_;
  SandboxPolicy policy_;
  std::vector<BenchRow> rows_;
};

}  // namespace

Result<std::vector<BenchRow>> run_bench(Backend& backend, const BenchOptions& options) {
  return Bench(backend, options).run();
}

}  // namespace forkpoint::sandbox
