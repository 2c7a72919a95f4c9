#include "sandbox/init/action.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include "core/file.h"
#include "sandbox/failure.h"
#include "sandbox/init/moved_state.h"
#include "sandbox/inside_path.h"
#include "sandbox/wire.h"

namespace forkpoint::sandbox {
namespace {

constexpr double kTickMs = 20;
// One argument may be no longer (MAX_ARG_STRLEN); a longer command goes through a file.
constexpr std::size_t kArgumentBytesMax = (std::size_t{128} << 10) - 1;
constexpr std::size_t kDumpBytesMax = std::size_t{20} << 20;
constexpr int kDumpPipeBytes = 1 << 20;
constexpr double kDiskAnswerMsMax = 10'000;

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double cpu_ms(const rusage& usage) {
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// The "max" or "oom_kill" count of a cgroup's events file, read anew.
std::uint64_t event_count(int fd, const char* key) {
  char buffer[512];
  const ssize_t count = pread(fd, buffer, sizeof buffer - 1, 0);
  if (count <= 0) return 0;
  buffer[count] = '\0';
  return number_after(buffer, key);
}

std::uint64_t free_bytes(const char* path) {
  struct statfs status {};
  if (statfs(path, &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize);
}

// What is there to read without waiting.
template <class Sink>
void drain(core::UniqueFd& fd, const Sink& sink) {
  static std::array<char, std::size_t{64} << 10> buffer;
  while (fd) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count > 0) {
      if (!sink(std::string_view(buffer.data(), static_cast<std::size_t>(count)))) return;
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      fd.reset();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

}  // namespace

// One action while it runs.
struct ActionRunner::Running {
  const ActionRequest& request;
  std::unique_ptr<ProcessTree> own_tree;  // none in the persistent shell
  ProcessTree* tree = nullptr;
  pid_t pid = -1;
  double start_ms = 0;
  core::UniqueFd output_pipe;
  core::UniqueFd error_pipe;
  OutputRing output;
  OutputRing error_output;
  std::string dump;
  std::optional<Ending> ending;
  std::optional<LimitKind> limit;
  bool oom_killed = false;
  bool unsupervised = false;
  double disk_asked_ms = 0;
  double disk_answer_ms = 0;             // how long the launcher took to measure
  std::uint64_t written_at_measure = 0;  // what disk_usage_bytes_ holds already
  TreeUsage usage_max;
  double cpu_ms_before = 0;  // of the tree, when the action began
  std::vector<core::UniqueFd>
      writers;  // our own ends of the persistent shell's pipes: they must not end before it opens them

  explicit Running(const ActionRequest& asked)
      : request(asked), output(asked.output_bytes_max), error_output(asked.output_bytes_max) {}

  std::uint64_t bytes_total() const { return output.bytes_total() + error_output.bytes_total(); }
};

ActionRunner::ActionRunner(InitStart start, std::vector<core::UniqueFd> fds, int control)
    : start_(std::move(start)), control_(control) {
  for (std::size_t i = 0; i < fds.size() && i < start_.fds.size(); ++i) {
    fds_[start_.fds[i]].push_back(std::move(fds[i]));
  }
  channel_ = {.pipe_path = start_.channel_folder + "/state", .token = start_.token};
  const auto kept = decode_shell_state(start_.shell_state);
  shell_ = kept ? *kept : initial_shell_state(start_.environment, start_.workspace);
  move_shell_state(shell_, start_.root_before, start_.root);
  disk_usage_bytes_ = start_.disk_bytes_before;
  disk_free_bytes_ = free_bytes(start_.workspace.c_str());
}

ActionRunner::~ActionRunner() = default;

Result<void> ActionRunner::prepare() {
  dump_pipe_.reset();
  unlink(channel_.pipe_path.c_str());
  if (mkfifo(channel_.pipe_path.c_str(), 0600) != 0)
    return system_failure("no_channel", "the shell's pipe can't be made");
  // Open for both, so that it never ends, and bash never waits to open it.
  dump_pipe_.reset(open(channel_.pipe_path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!dump_pipe_) return system_failure("no_channel", "the shell's pipe can't be opened");
  (void)fcntl(dump_pipe_.get(), F_SETPIPE_SZ, kDumpPipeBytes);  // a smaller one only costs time
  return write_channel_file("trap", trap_script());
}

std::unique_ptr<ProcessTree> ActionRunner::make_tree() {
  if (!fds_.contains(kFdCgroupWork)) return make_reaper_tree();
  std::vector<int> procs;
  for (const core::UniqueFd& fd : fds_[kFdCgroupProcs]) procs.push_back(fd.get());
  return make_cgroup_tree(fds_[kFdCgroupWork].front().get(), "a" + std::to_string(actions_), procs);
}

Result<void> ActionRunner::write_channel_file(const char* name, const std::string& text) {
  const std::string path = start_.channel_folder + "/" + name;
  unlink(path.c_str());  // whatever an action put there
  const core::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return system_failure("no_channel", "the shell's script can't be written");
  if (const auto written = core::write_all(fd.get(), text, path); !written) {
    return Error{.boundary = Boundary::sandbox, .code = "no_channel", .message = written.error().message};
  }
  return {};
}

Result<void> ActionRunner::write_restoring_script(const ActionRequest& request) {
  struct stat status {};
  const std::string trap_path = start_.channel_folder + "/trap";
  if (stat(channel_.pipe_path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode) ||
      access(trap_path.c_str(), R_OK) != 0) {
    FORKPOINT_RETURN_IF_ERROR(prepare());  // an action removed it
  }
  drain(dump_pipe_, [](std::string_view) { return true; });  // what an earlier action's processes left there
  if (request.command.size() > kArgumentBytesMax) {
    FORKPOINT_RETURN_IF_ERROR(write_channel_file("command", request.command));
  }
  ShellState state = shell_;
  if (!request.cwd.empty() && !state.folders.empty()) state.folders.front() = inside(request.cwd);
  return write_channel_file("restore", restoring_script(state, channel_, request.environment));
}

std::string ActionRunner::inside(const std::string& path) const {
  return path.starts_with('/') ? seen_path(path, start_.root) : start_.workspace + "/" + path;
}

Result<SpawnPlan> ActionRunner::plan_for(const ActionRequest& request) const {
  SpawnPlan plan;
  plan.cwd = request.cwd.empty() ? start_.workspace : inside(request.cwd);
  if (request.shell) {
    plan.arguments = {"/bin/bash", "--norc", "--noprofile"};
    if (request.command.size() <= kArgumentBytesMax) {
      plan.arguments.insert(plan.arguments.end(), {"-c", "--", request.command});
    } else {
      plan.arguments.push_back(start_.channel_folder + "/command");
    }
    // Without a home and a shell, bash would look the user up (nsswitch, passwd) before the script says them.
    plan.environment = {"BASH_ENV=" + start_.channel_folder + "/restore", "HOME=/", "SHELL=/bin/bash"};
    if (request.cwd.empty()) plan.cwd = "/";  // the script goes where the state ended
  } else {
    if (request.cwd.empty() && !shell_.cwd().empty()) plan.cwd = shell_.cwd();
    plan.arguments = request.arguments;
    std::map<std::string, std::string> environment = start_.environment;
    for (const auto& [name, value] : request.environment) environment[name] = value;
    for (const auto& [name, value] : environment)
      plan.environment.push_back(std::string(name).append("=").append(value));
  }
  const Limits& limits = start_.limits;
  plan.limits = {{RLIMIT_NOFILE, static_cast<rlim_t>(limits.open_files_max)},
                 {RLIMIT_FSIZE, static_cast<rlim_t>(limits.file_size_bytes_max)},
                 {RLIMIT_CORE, 0},
                 // A single process can't run past this even if nobody looks.
                 {RLIMIT_CPU, static_cast<rlim_t>(std::ceil(request.cpu_time_s_max)) + 1}};
  if (!fds_.contains(kFdCgroupProcs) && !fds_.contains(kFdPidsEvents)) {
    // Backstops behind what check_usage() sees: it looks only now and then.
    const rlim_t others = start_.shared_user ? threads_of_user() : 0;
    plan.limits.emplace_back(RLIMIT_NPROC, others + static_cast<rlim_t>(2 * limits.pids_max + 16));
    plan.limits.emplace_back(RLIMIT_DATA, static_cast<rlim_t>(4 * limits.memory_bytes_max));
  }
  if (request.shell) {
    for (const ResourceLimit& limit : shell_.limits)
      plan.exact_limits.push_back({limit.resource, {limit.soft, limit.hard}});
  }
  return plan;
}

Result<void> ActionRunner::open_output(Running& running, SpawnPlan& plan,
                                       std::vector<core::UniqueFd>& child_ends) {
  const auto make_pipe = [&](core::UniqueFd& reading) -> Result<int> {
    int fds[2] = {-1, -1};
    if (pipe2(fds, O_CLOEXEC) != 0) return system_failure("no_pipe", "an action's pipe can't be made");
    reading.reset(fds[0]);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    child_ends.emplace_back(fds[1]);
    return fds[1];
  };
  FORKPOINT_ASSIGN_OR_RETURN(plan.stdio[1], make_pipe(running.output_pipe));
  plan.stdio[2] = plan.stdio[1];
  if (running.request.separate_output) {
    FORKPOINT_ASSIGN_OR_RETURN(plan.stdio[2], make_pipe(running.error_pipe));
  }
  if (running.request.stdin_bytes.empty()) {
    child_ends.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } else {
    FORKPOINT_ASSIGN_OR_RETURN(core::UniqueFd file, make_memory_file("stdin", running.request.stdin_bytes));
    child_ends.push_back(std::move(file));
  }
  plan.stdio[0] = child_ends.back().get();
  return {};
}

Result<ExecResult> ActionRunner::run(const ActionRequest& request) {
  ++actions_;
  Running running(request);
  if (fds_.contains(kFdMemoryPeak)) (void)!write(fds_[kFdMemoryPeak].front().get(), "0", 1);
  const bool persistent = request.shell && start_.shell == ShellMode::persistent;
  FORKPOINT_RETURN_IF_ERROR(persistent ? start_in_persistent_shell(running)
                                       : start_in_process_of_its_own(running));
  wait_for_ending(running);
  return finish(running);
}

Result<void> ActionRunner::start_in_process_of_its_own(Running& running) {
  const ActionRequest& request = running.request;
  FORKPOINT_ASSIGN_OR_RETURN(SpawnPlan plan, plan_for(request));
  if (request.shell) FORKPOINT_RETURN_IF_ERROR(write_restoring_script(request));
  std::vector<core::UniqueFd> child_ends;
  FORKPOINT_RETURN_IF_ERROR(open_output(running, plan, child_ends));
  running.own_tree = make_tree();
  running.tree = running.own_tree.get();
  running.start_ms = now_ms();
  FORKPOINT_ASSIGN_OR_RETURN(running.pid, running.tree->start(std::move(plan)));
  return {};
}

Result<core::UniqueFd> ActionRunner::make_fifo(const char* name) {
  const std::string path = start_.channel_folder + "/" + name;
  unlink(path.c_str());
  if (mkfifo(path.c_str(), 0600) != 0)
    return system_failure("no_channel", "a pipe of the shell can't be made");
  core::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return system_failure("no_channel", "a pipe of the shell can't be opened");
  return fd;
}

Result<void> ActionRunner::start_persistent_shell() {
  ActionRequest shell{.shell = true,
                      .command = persistent_driver(channel_),
                      .arguments = {},
                      .stdin_bytes = {},
                      .environment = {},
                      .cwd = {}};
  shell.cpu_time_s_max = 1e7;  // of all its actions: each has its own limit
  FORKPOINT_RETURN_IF_ERROR(write_restoring_script(shell));
  FORKPOINT_ASSIGN_OR_RETURN(const core::UniqueFd go, make_fifo("go"));
  FORKPOINT_ASSIGN_OR_RETURN(SpawnPlan plan, plan_for(shell));
  const core::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int& fd : plan.stdio) fd = null.get();
  shell_tree_ = make_tree();
  FORKPOINT_ASSIGN_OR_RETURN(shell_pid_, shell_tree_->start(std::move(plan)));
  return {};
}

Result<void> ActionRunner::start_in_persistent_shell(Running& running) {
  const ActionRequest& request = running.request;
  if (!shell_tree_) FORKPOINT_RETURN_IF_ERROR(start_persistent_shell());
  FORKPOINT_ASSIGN_OR_RETURN(running.output_pipe, make_fifo("out"));
  if (request.separate_output) {
    FORKPOINT_ASSIGN_OR_RETURN(running.error_pipe, make_fifo("err"));
  }
  for (const char* name : {"out", "err"}) {
    running.writers.emplace_back(
        open((start_.channel_folder + "/" + name).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  }
  FORKPOINT_RETURN_IF_ERROR(write_channel_file("in", request.stdin_bytes));
  std::string command;
  if (!request.cwd.empty())
    command += "builtin cd -- " + shell_quote(inside(request.cwd)) + " || builtin return; ";
  for (const auto& [name, value] : request.environment)
    command += "builtin export " + name + "=" + shell_quote(value) + "; ";
  FORKPOINT_RETURN_IF_ERROR(write_channel_file(
      "step", persistent_step(command + request.command, request.separate_output, channel_)));
  drain(dump_pipe_, [](std::string_view) { return true; });
  running.tree = shell_tree_.get();
  running.pid = shell_pid_;
  running.start_ms = now_ms();
  running.cpu_ms_before = running.tree->usage().cpu_ms;
  const std::string line = "\\builtin . " + shell_quote(start_.channel_folder + "/step") + "\n";
  // The shell is, or will be, waiting at the other end.
  go_.reset(open((start_.channel_folder + "/go").c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (write(go_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return system_failure("no_channel", "the shell can't be reached");
  return {};
}

void ActionRunner::stop(Running& running, LimitKind limit) {
  if (running.limit) return;
  running.limit = limit;
  running.tree->kill_all();
}

void ActionRunner::read_output(Running& running) {
  const auto flooded = [&running] {
    return running.bytes_total() > running.request.output_bytes_max * kFloodFactor;
  };
  const auto into = [&](OutputRing& ring) {
    return [&ring, flooded](std::string_view bytes) {
      ring.add(bytes);
      return !flooded();
    };
  };
  drain(running.output_pipe, into(running.output));
  drain(running.error_pipe, into(running.error_output));
  if (flooded()) stop(running, LimitKind::output);
}

void ActionRunner::read_shell_dump(Running& running) {
  drain(dump_pipe_, [&running](std::string_view bytes) {
    if (running.dump.size() < kDumpBytesMax) running.dump += bytes;
    return true;
  });
}

void ActionRunner::reap_during(Running& running) {
  Ending ending;
  for (;;) {
    const pid_t pid = wait4(-1, &ending.status, WNOHANG, &ending.usage);
    if (pid <= 0) return;
    if (pid == running.pid) running.ending = ending;
  }
}

void ActionRunner::check_events(Running& running) {
  bool out_of_memory = false;
  if (fds_.contains(kFdOomEvent)) {
    std::uint64_t count = 0;
    out_of_memory = read(fds_[kFdOomEvent].front().get(), &count, sizeof count) == sizeof count && count > 0;
  }
  if (fds_.contains(kFdMemoryEvents)) {
    const std::uint64_t count = event_count(fds_[kFdMemoryEvents].front().get(), "oom_kill");
    out_of_memory = out_of_memory || count > oom_events_seen_;
    oom_events_seen_ = count;
  }
  if (out_of_memory) stop_greediest(running, LimitKind::memory);
  if (fds_.contains(kFdPidsEvents)) {
    const std::uint64_t count = event_count(fds_[kFdPidsEvents].front().get(), "max");
    const bool refused = count > pids_events_seen_;
    pids_events_seen_ = count;
    if (refused) stop_greediest(running, LimitKind::pids);
  }
}

// These limits hold for all actions' processes together: an earlier action's may be the ones that took it
// all.
void ActionRunner::stop_greediest(Running& running, LimitKind limit) {
  const auto takes = [limit](ProcessTree& tree) {
    const std::vector<pid_t> pids = tree.members();
    if (limit == LimitKind::pids) return static_cast<std::uint64_t>(pids.size());
    std::uint64_t pages = 0;
    for (const pid_t pid : pids) {
      const std::string sizes = read_proc_file(pid, "statm");
      const std::size_t resident = sizes.find(' ');
      if (resident != std::string::npos) pages += std::strtoull(sizes.c_str() + resident, nullptr, 10);
    }
    return pages;
  };
  ProcessTree* greediest = running.tree;
  std::uint64_t most = takes(*running.tree);
  for (const auto& tree : trees_) {
    const std::uint64_t taken = takes(*tree);
    if (taken <= most) continue;
    most = taken;
    greediest = tree.get();
  }
  if (greediest != running.tree) return greediest->kill_all();
  running.oom_killed = running.oom_killed || limit == LimitKind::memory;
  stop(running, limit);
}

void ActionRunner::check_usage(Running& running) {
  const TreeUsage usage = running.tree->usage();
  running.usage_max.cpu_ms = std::max(running.usage_max.cpu_ms, usage.cpu_ms);
  running.usage_max.memory_bytes = std::max(running.usage_max.memory_bytes, usage.memory_bytes);
  if (usage.cpu_ms - running.cpu_ms_before > running.request.cpu_time_s_max * 1e3)
    stop(running, LimitKind::cpu_time);
  if (usage.memory_bytes > start_.limits.memory_bytes_max) {
    running.oom_killed = true;
    stop(running, LimitKind::memory);
  }
  if (usage.processes > static_cast<std::size_t>(start_.limits.pids_max)) stop(running, LimitKind::pids);
  // The kernel refuses a descriptor too many without telling anyone: a full table is the trace of it.
  for (const pid_t pid : usage.pids) {
    struct stat table {};
    const std::string path = "/proc/" + std::to_string(pid) + "/fd";
    if (stat(path.c_str(), &table) == 0 && table.st_size >= start_.limits.open_files_max) {
      stop(running, LimitKind::open_files);
    }
  }
  check_disk(running, usage.pids, false);
}

// What the action's processes wrote, deleted or not: those that live, and those that its own process has
// waited for.
std::uint64_t ActionRunner::bytes_written(const Running& running, const std::vector<pid_t>& pids) {
  constexpr std::uint64_t kBlock = 512;
  std::uint64_t bytes =
      running.ending ? static_cast<std::uint64_t>(running.ending->usage.ru_oublock) * kBlock : 0;
  for (const pid_t pid : pids) bytes += number_after(read_proc_file(pid, "io"), "write_bytes:");
  return bytes;
}

std::uint64_t ActionRunner::disk_bytes_estimate() const {
  const std::uint64_t free_now = free_bytes(start_.workspace.c_str());
  return disk_usage_bytes_ + (disk_free_bytes_ > free_now ? disk_free_bytes_ - free_now : 0);
}

// The file system's free space and what was written tell cheaply that the limit can't have been reached; only
// when they do not, the launcher measures. (The first alone would be fooled by whoever deletes beside us.)
void ActionRunner::check_disk(Running& running, const std::vector<pid_t>& pids, bool at_end) {
  const std::uint64_t free_now = free_bytes(start_.workspace.c_str());
  const std::uint64_t less_free = disk_free_bytes_ > free_now ? disk_free_bytes_ - free_now : 0;
  const std::uint64_t written = disk_written_bytes_ + bytes_written(running, pids);
  const std::uint64_t spent =
      std::max(less_free, written > running.written_at_measure ? written - running.written_at_measure : 0);
  if (at_end) disk_written_bytes_ = spent;
  const std::uint64_t limit = start_.limits.disk_bytes_max;
  // What was written until the action was stopped must be known, or the next one would pay for it.
  const bool stopped = at_end && running.limit == LimitKind::disk;
  if (disk_usage_bytes_ + spent <= limit && !stopped) return;
  // A measurement that takes long must not take all the time.
  if (!at_end && now_ms() - running.disk_asked_ms < std::max(10 * kTickMs, 10 * running.disk_answer_ms))
    return;
  const std::uint64_t before = disk_usage_bytes_;
  running.disk_asked_ms = now_ms();
  const auto usage = ask_disk_bytes();
  running.disk_answer_ms = now_ms() - running.disk_asked_ms;
  if (!usage) return;
  disk_usage_bytes_ = *usage;
  disk_free_bytes_ = free_now;
  running.written_at_measure = written;
  if (at_end) disk_written_bytes_ = 0;
  // Who is above the limit already may still clean up; what the file system books late is not theirs.
  const std::uint64_t slack = limit / 16;
  if (running.limit != LimitKind::disk && *usage > limit && (before <= limit || *usage > before + slack)) {
    if (at_end && !running.limit) running.limit = LimitKind::disk;
    if (!at_end) stop(running, LimitKind::disk);
  }
}

std::optional<std::uint64_t> ActionRunner::ask_disk_bytes() {
  if (!send_message(control_, MessageType::measure_disk, 0, "")) return std::nullopt;
  pollfd waiting{control_, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(kDiskAnswerMsMax)) <= 0) return std::nullopt;
  const auto answer = receive_message(control_);
  if (!answer || !answer->has_value() || (*answer)->type != MessageType::disk_usage) return std::nullopt;
  Reader reader((*answer)->body);
  const std::uint64_t bytes = reader.u64();
  return reader.complete() ? std::optional<std::uint64_t>(bytes) : std::nullopt;
}

void ActionRunner::wait_for_ending(Running& running) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  const core::UniqueFd signals(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  const double deadline_ms = running.start_ms + running.request.wall_s_max * 1e3;
  const auto add = [](std::vector<pollfd>& fds, int fd, short events) { fds.push_back({fd, events, 0}); };
  double next_check_ms = running.start_ms + kTickMs;
  running.unsupervised = !fds_.contains(kFdCgroupWork) && running.tree->ending_fd() < 0;
  reap_during(running);
  const auto answered = [&] {
    return running.tree == shell_tree_.get() && is_answered(running.dump, channel_);
  };
  while (!running.ending && !answered()) {
    std::vector<pollfd> fds;
    add(fds, signals.get(), POLLIN);
    add(fds, running.output_pipe.get(), POLLIN);
    add(fds, running.error_pipe.get(), POLLIN);
    // Bash dumps line by line: woken by each, we would take the time that it needs. What fits the pipe waits
    // there for its end or the next check.
    const bool watches_dump = !running.dump.empty() || running.tree == shell_tree_.get();
    add(fds, watches_dump ? dump_pipe_.get() : -1, POLLIN);
    add(fds, running.tree->ending_fd(), POLLIN);
    if (fds_.contains(kFdOomEvent)) add(fds, fds_[kFdOomEvent].front().get(), POLLIN);
    if (fds_.contains(kFdMemoryEvents)) add(fds, fds_[kFdMemoryEvents].front().get(), POLLPRI);
    if (fds_.contains(kFdPidsEvents)) add(fds, fds_[kFdPidsEvents].front().get(), POLLPRI);
    for (const int fd : background_fds()) add(fds, fd, POLLIN);
    const double wait_ms = std::max(0.0, std::min(next_check_ms, deadline_ms) - now_ms());
    poll(fds.data(), fds.size(), static_cast<int>(std::ceil(wait_ms)));

    signalfd_siginfo info{};
    while (read(signals.get(), &info, sizeof info) > 0) {
    }
    reap_during(running);
    if ((fds[4].revents & (POLLIN | POLLHUP)) != 0 && !running.ending) {
      running.ending = running.tree->read_ending();
      running.unsupervised = !running.ending;
    }
    // An action can kill its supervisor, even after that has collected it, and how it ended is lost then.
    if (running.unsupervised && !running.ending && kill(running.pid, 0) != 0)
      running.ending = Ending{.status = SIGKILL};
    read_output(running);
    if (watches_dump) read_shell_dump(running);
    drain_background();
    check_events(running);
    if (now_ms() >= next_check_ms) {
      read_shell_dump(running);
      check_usage(running);
      next_check_ms = now_ms() + kTickMs;
    }
    if (!running.ending && now_ms() >= deadline_ms) stop(running, LimitKind::wall);
    if (control_ >= 0) {
      pollfd gone{control_, 0, 0};
      if (poll(&gone, 1, 0) > 0 && (gone.revents & POLLHUP) != 0)
        _exit(0);  // the launcher is dead, so are we
    }
  }
}

void ActionRunner::keep_shell_state(const Running& running, ShellState state) {
  forget_extra_environment(state, shell_, running.request.environment);
  shell_ = std::move(state);
}

ExecResult ActionRunner::finish(Running& running) {
  read_output(running);
  read_shell_dump(running);
  check_events(running);
  const TreeUsage usage = running.tree->usage();
  check_disk(running, usage.pids, true);
  ExecResult result;
  result.wall_ms = now_ms() - running.start_ms;
  const bool ended = running.ending.has_value();
  const auto state = parse_shell_dump(running.dump, channel_);
  // A persistent shell lives on, and says how the command ended.
  const int status = ended ? running.ending->status : (state ? state->status : 0) << 8;
  if (!ended) running.ending.emplace();
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  const bool too_large = result.signal == SIGXFSZ || result.exit_code == 128 + SIGXFSZ;
  const bool too_long = result.signal == SIGXCPU || result.exit_code == 128 + SIGXCPU;
  if (!running.limit && too_large) running.limit = LimitKind::file_size;
  if (!running.limit && too_long) running.limit = LimitKind::cpu_time;
  result.limit = running.limit;
  result.timed_out = running.limit == LimitKind::wall;
  result.oom_killed = running.oom_killed;
  result.cpu_ms = std::max({cpu_ms(running.ending->usage), running.usage_max.cpu_ms, usage.cpu_ms}) -
                  running.cpu_ms_before;
  result.memory_peak_bytes = std::max(static_cast<std::uint64_t>(running.ending->usage.ru_maxrss) << 10,
                                      running.usage_max.memory_bytes);
  if (fds_.contains(kFdMemoryPeak)) {
    char buffer[32] = {};
    if (pread(fds_[kFdMemoryPeak].front().get(), buffer, sizeof buffer - 1, 0) > 0) {
      result.memory_peak_bytes = std::strtoull(buffer, nullptr, 10);
    }
  }
  if (running.request.shell) {
    result.state_saved = state.has_value();
    if (state) keep_shell_state(running, *state);
  }
  result.cwd = shell_.cwd();
  result.output = running.output.take();
  if (running.request.separate_output) result.error_output = running.error_output.take();

  if (running.output_pipe) background_pipes_.push_back(std::move(running.output_pipe));
  if (running.error_pipe) background_pipes_.push_back(std::move(running.error_pipe));
  if (running.own_tree) {
    if (!running.tree->finished()) trees_.push_back(std::move(running.own_tree));
  } else if (ended) {
    trees_.push_back(std::move(shell_tree_));  // the shell is gone; what it left in the background is not
    shell_pid_ = -1;
  }
  result.background = background();
  return result;
}

std::vector<BackgroundProcess> ActionRunner::background() {
  std::vector<BackgroundProcess> found;
  std::erase_if(trees_, [](const auto& tree) { return tree->finished(); });
  std::vector<pid_t> pids;
  for (const auto& tree : trees_) {
    for (const pid_t pid : tree->members()) pids.push_back(pid);
  }
  if (shell_tree_) {
    for (const pid_t pid : shell_tree_->members()) {
      if (pid != shell_pid_) pids.push_back(pid);
    }
  }
  for (const pid_t pid : pids) {
    // One whose memory is gone is on its way out.
    if (is_living(pid) && !read_proc_file(pid, "statm").starts_with("0 "))
      found.push_back({pid, command_of(pid)});
  }
  return found;
}

std::vector<int> ActionRunner::background_fds() const {
  std::vector<int> fds;
  for (const core::UniqueFd& pipe : background_pipes_) fds.push_back(pipe.get());
  return fds;
}

void ActionRunner::drain_background() {
  for (core::UniqueFd& pipe : background_pipes_) {
    std::size_t budget = std::size_t{1} << 20;  // a flood must not keep us here
    drain(pipe, [&budget](std::string_view bytes) {
      budget -= std::min(budget, bytes.size());
      return budget > 0;
    });
  }
  std::erase_if(background_pipes_, [](const core::UniqueFd& pipe) { return !pipe; });
}

void ActionRunner::reap() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace forkpoint::sandbox
