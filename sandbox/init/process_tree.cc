#include "sandbox/init/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <map>

#include "sandbox/failure.h"

namespace forkpoint::sandbox {
namespace {

void pause_ms(long ms) {
  const timespec time{0, ms * 1'000'000};
  nanosleep(&time, nullptr);
}

class CgroupTree final : public ProcessTree {
 public:
  CgroupTree(int work, std::string name, std::vector<int> procs)
      : work_(work), name_(std::move(name)), procs_(std::move(procs)) {}

  ~CgroupTree() override { finished(); }

  Result<pid_t> start(SpawnPlan plan) override {
    if (mkdirat(work_, name_.c_str(), 0755) != 0) return failed("an action's cgroup can't be made");
    folder_.reset(openat(work_, name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const core::UniqueFd own(openat(folder_.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
    if (!own) return failed("an action's cgroup can't be joined");
    plan.cgroup_procs = procs_;
    plan.cgroup_procs.push_back(own.get());
    return spawn(plan);
  }

  int ending_fd() const override { return -1; }
  std::optional<Ending> read_ending() override { return std::nullopt; }

  void kill_all() override {
    const core::UniqueFd kill(openat(folder_.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
    if (write(kill.get(), "1", 1) < 0) {
      for (const pid_t pid : members()) ::kill(pid, SIGKILL);
    }
    // They are dying, but it takes them a moment; a process in the kernel's hands may take longer than we
    // wait.
    constexpr int kWaitsMax = 2000;
    for (int wait = 0; wait < kWaitsMax && has_living(); ++wait) pause_ms(1);
  }

  TreeUsage usage() override {
    const std::string text = read_small_file(folder_.get(), "cpu.stat");
    return {.cpu_ms = static_cast<double>(number_after(text, "usage_usec")) / 1e3, .pids = members()};
  }

  std::vector<pid_t> members() override {
    std::vector<pid_t> pids;
    const std::string text = read_small_file(folder_.get(), "cgroup.procs");
    for (const char* at = text.c_str(); *at != '\0';) {
      char* end = nullptr;
      const long pid = std::strtol(at, &end, 10);
      if (end == at) break;
      if (pid > 0) pids.push_back(static_cast<pid_t>(pid));
      at = *end == '\n' ? end + 1 : end;
    }
    return pids;
  }

  bool has_living() {
    const std::vector<pid_t> pids = members();
    return std::any_of(pids.begin(), pids.end(), is_living);
  }

  bool finished() override {
    if (!folder_) return true;
    if (unlinkat(work_, name_.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return false;
    folder_.reset();
    return true;
  }

 private:
  static Error failed(const char* message) { return system_failure("cgroup_failed", message); }

  int work_;
  std::string name_;
  std::vector<int> procs_;
  core::UniqueFd folder_;
};

// What is written to init: first the pid, by the action's process itself before it is the action's program
// (which may kill its supervisor at once); then, by the supervisor, whether the program started; then how it
// ended.
struct SupervisorReport {
  pid_t pid = 0;
  bool ended = false;
  Ending ending;
  char error_code[32] = {};
  char error_message[256] = {};
  Fault fault = Fault::work;
};

class ReaperTree final : public ProcessTree {
 public:
  ~ReaperTree() override = default;

  Result<pid_t> start(SpawnPlan plan) override {
    int fds[2] = {-1, -1};
    if (pipe2(fds, O_CLOEXEC) != 0) return failed();
    reports_.reset(fds[0]);
    core::UniqueFd writer(fds[1]);
    supervisor_ = fork();
    if (supervisor_ < 0) return failed();
    if (supervisor_ == 0) supervise(plan, writer.get());
    writer.reset();
    own_ = read_report().pid;
    const SupervisorReport report = read_report();
    if (own_ > 0 && report.pid == 0) {
      reports_.reset();  // the action began, and killed its supervisor
      return own_;
    }
    if (report.pid <= 0) {
      waitpid(supervisor_, nullptr, 0);
      supervisor_ = -1;
      return Error{.boundary = Boundary::sandbox,
                   .fault = report.fault,
                   .code = report.error_code[0] != '\0' ? report.error_code : "not_started",
                   .message = report.error_message};
    }
    return own_;
  }

  int ending_fd() const override { return reports_.get(); }

  std::optional<Ending> read_ending() override {
    if (!reports_) return std::nullopt;
    const SupervisorReport report = read_report();
    reports_.reset();
    if (!report.ended) return std::nullopt;  // the supervisor was killed: the own process is our child now
    return report.ending;
  }

  void kill_all() override {
    // A table of processes is not read at one moment: whoever changes parents meanwhile is missed by one
    // look.
    constexpr int kRoundsMax = 400;
    constexpr int kQuietRoundsWanted = 3;
    int quiet_rounds = 0;
    for (int round = 0; round < kRoundsMax && quiet_rounds < kQuietRoundsWanted; ++round) {
      const std::set<pid_t> seen = stop_all([this] { return members(); });
      quiet_rounds = seen.empty() ? quiet_rounds + 1 : 0;
      for (const pid_t pid : seen) kill(pid, SIGKILL);
      if (!seen.empty()) pause_ms(1);
    }
    if (supervisor_ > 0) kill(supervisor_, SIGCONT);
  }

  TreeUsage usage() override {
    TreeUsage usage;
    if (supervisor_ > 0) kill(supervisor_, SIGCONT);  // an action may have stopped it, with everybody else
    for (const ProcessInfo& process : living()) {
      usage.cpu_ms += process.cpu_ms;
      usage.memory_bytes += process.memory_bytes;
      ++usage.processes;
      usage.pids.push_back(process.pid);
    }
    return usage;
  }

  std::vector<pid_t> members() override {
    std::vector<pid_t> pids;
    for (const ProcessInfo& process : living()) pids.push_back(process.pid);
    return pids;
  }

  bool finished() override { return living().empty(); }

 private:
  static Error failed() { return system_failure("not_started", "an action's supervisor can't be made"); }

  std::vector<ProcessInfo> living() const {
    const std::vector<ProcessInfo> all = list_processes();
    std::set<pid_t> roots = {supervisor_};
    // Without its supervisor (an agent can kill it) the own process is at the top, its orphans are ours.
    if (own_ > 0) roots.insert(own_);
    std::vector<ProcessInfo> found = descendants(all, roots);
    for (const ProcessInfo& process : all) {
      if (process.pid == own_ &&
          std::none_of(found.begin(), found.end(), [this](const auto& p) { return p.pid == own_; })) {
        found.push_back(process);
      }
    }
    std::erase_if(found, [](const ProcessInfo& process) { return process.is_dead(); });
    return found;
  }

  SupervisorReport read_report() const {
    SupervisorReport report;
    ssize_t count = -1;
    do {
      count = read(reports_.get(), &report, sizeof report);
    } while (count < 0 && errno == EINTR);
    return count == static_cast<ssize_t>(sizeof report) ? report : SupervisorReport{};
  }

  // The supervisor's life: start the action's process, tell how it ended, reap until nothing is left.
  [[noreturn]] static void supervise(SpawnPlan plan, int reports) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    SupervisorReport report;
    plan.before_exec = [](int fd) {
      SupervisorReport own;
      own.pid = getpid();
      (void)!write(fd, &own, sizeof own);
    };
    plan.before_exec_fd = reports;
    const Result<pid_t> pid = spawn(plan);
    if (!pid) {
      report.pid = -1;
      report.fault = pid.error().fault;
      pid.error().code.copy(report.error_code, sizeof report.error_code - 1);
      pid.error().message.copy(report.error_message, sizeof report.error_message - 1);
      (void)!write(reports, &report, sizeof report);
      _exit(1);
    }
    report.pid = *pid;
    (void)!write(reports, &report, sizeof report);
    close_all_but(reports);  // we may outlive the action
    for (;;) {
      Ending ending;
      const pid_t ended = wait4(-1, &ending.status, 0, &ending.usage);
      if (ended < 0 && errno == ECHILD) _exit(0);
      if (ended != *pid) continue;
      report.ended = true;
      report.ending = ending;
      (void)!write(reports, &report, sizeof report);
    }
  }

  core::UniqueFd reports_;
  pid_t supervisor_ = -1;
  pid_t own_ = -1;
};

}  // namespace

std::unique_ptr<ProcessTree> make_cgroup_tree(int work, const std::string& name, std::vector<int> procs) {
  return std::make_unique<CgroupTree>(work, name, std::move(procs));
}

std::unique_ptr<ProcessTree> make_reaper_tree() { return std::make_unique<ReaperTree>(); }

std::string read_small_file(int folder, const char* path) {
  const core::UniqueFd fd(openat(folder, path, O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(fd.get(), buffer, sizeof buffer);
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string read_proc_file(pid_t pid, const char* name) {
  return read_small_file(AT_FDCWD, ("/proc/" + std::to_string(pid) + "/" + name).c_str());
}

std::uint64_t number_after(const std::string& text, const std::string& key) {
  const std::size_t at = text.starts_with(key + " ") ? 0 : text.find("\n" + key + " ");
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + text.find(' ', at) + 1, nullptr, 10);
}

bool is_living(pid_t pid) {
  const std::string stat = read_proc_file(pid, "stat");
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything, parentheses too
  return name_end != std::string::npos && stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

std::set<pid_t> stop_all(const std::function<std::vector<pid_t>()>& members) {
  std::set<pid_t> seen;
  for (bool grew = true; grew;) {
    grew = false;
    for (const pid_t pid : members()) {
      if (!seen.insert(pid).second) continue;
      grew = true;
      kill(pid, SIGSTOP);
    }
  }
  return seen;
}

std::uint64_t threads_of_user() {
  std::uint64_t threads = 0;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return 0;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    struct stat status {};
    if (pid <= 0 || fstatat(dirfd(folder), entry->d_name, &status, 0) != 0 || status.st_uid != getuid())
      continue;
    const std::string text = read_proc_file(pid, "status");
    const std::string_view key = "\nThreads:\t";
    const std::size_t at = text.find(key);
    if (at != std::string::npos) threads += std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
  }
  closedir(folder);
  return threads;
}

void close_all_but(int keep) {
  if (keep > 0) syscall(SYS_close_range, 0U, static_cast<unsigned>(keep) - 1, 0U);
  syscall(SYS_close_range, static_cast<unsigned>(keep) + 1, ~0U, 0U);
}

std::vector<ProcessInfo> list_processes() {
  static const double tick_ms = 1e3 / static_cast<double>(sysconf(_SC_CLK_TCK));
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<ProcessInfo> found;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    const std::string stat = read_proc_file(pid, "stat");
    const std::size_t name_end = stat.rfind(')');  // the name may hold anything, parentheses too
    if (name_end == std::string::npos) continue;
    ProcessInfo process{.pid = pid};
    unsigned long user = 0;
    unsigned long system = 0;
    unsigned long children_user = 0;
    unsigned long children_system = 0;
    unsigned long long pages = 0;
    // Fields 3 to 24 of proc(5).
    std::sscanf(stat.c_str() + name_end + 1,
                " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu %*d %*d %*d %*d %*u %*u %llu",
                &process.state, &process.parent, &user, &system, &children_user, &children_system, &pages);
    process.cpu_ms = static_cast<double>(user + system + children_user + children_system) * tick_ms;
    process.memory_bytes = pages * page;
    found.push_back(process);
  }
  closedir(folder);
  return found;
}

std::vector<ProcessInfo> descendants(const std::vector<ProcessInfo>& all, const std::set<pid_t>& roots) {
  std::set<pid_t> inside = roots;
  std::vector<ProcessInfo> found;
  for (bool grew = true; grew;) {
    grew = false;
    for (const ProcessInfo& process : all) {
      if (inside.contains(process.pid) || !inside.contains(process.parent)) continue;
      inside.insert(process.pid);
      found.push_back(process);
      grew = true;
    }
  }
  return found;
}

std::string command_of(pid_t pid) {
  std::string text = read_proc_file(pid, "cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  if (!text.empty()) return text.substr(0, 1000);
  text = read_proc_file(pid, "comm");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return "[" + text + "]";
}

}  // namespace forkpoint::sandbox
