#include "sandbox/init/spawn.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "sandbox/failure.h"

namespace forkpoint::sandbox {
namespace {

enum class Step : int { none, cgroup, limit, stdio, cwd, program };

// What the child says when it could not start; it shares our memory until it execs.
struct Failure {
  Step step = Step::none;
  int error = 0;
};

std::string path_of(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.rfind("PATH=", 0) == 0) return entry.substr(5);
  }
  return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

// Every place where the program may be, in order; made before vfork, since the child must not allocate.
std::vector<std::string> candidates(const std::string& program, const std::vector<std::string>& environment) {
  if (program.find('/') != std::string::npos) return {program};
  std::vector<std::string> found;
  const std::string path = path_of(environment);
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    const std::string folder = path.substr(start, end - start);
    found.push_back((folder.empty() ? "." : folder) + "/" + program);
    start = end + 1;
  }
  return found;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

bool enter_limits(const SpawnPlan& plan) {
  for (const auto& [resource, limit] : plan.limits) {
    rlimit current{};
    if (getrlimit(static_cast<__rlimit_resource>(resource), &current) != 0) return false;
    const rlim_t value = limit < current.rlim_max ? limit : current.rlim_max;
    const rlimit wanted{value, value};
    if (setrlimit(static_cast<__rlimit_resource>(resource), &wanted) != 0) return false;
  }
  for (const auto& [resource, limit] : plan.exact_limits) {
    setrlimit(static_cast<__rlimit_resource>(resource), &limit);  // never raises what is above
  }
  return true;
}

bool enter_stdio(const SpawnPlan& plan) {
  // The sources are all above 2, so no target is overwritten before it is copied.
  for (int fd = 0; fd < 3; ++fd) {
    if (dup2(plan.stdio[fd], fd) < 0) return false;
  }
  return syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) == 0;
}

// In the child. Nothing here may allocate or touch what the parent still needs.
Failure become(const SpawnPlan& plan, const std::vector<const char*>& programs, char* const* argv,
               char* const* envp) {
  const auto failed = [](Step step) { return Failure{step, errno}; };
  for (const int procs : plan.cgroup_procs) {
    if (write(procs, "0", 1) != 1) return failed(Step::cgroup);
  }
  setsid();
  setpriority(PRIO_PROCESS, 0, 0);  // init's own is the launcher's gift to init alone
  if (plan.before_exec != nullptr) plan.before_exec(plan.before_exec_fd);
  if (!enter_limits(plan)) return failed(Step::limit);
  if (chdir(plan.cwd.c_str()) != 0) return failed(Step::cwd);
  if (!enter_stdio(plan)) return failed(Step::stdio);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int error = ENOENT;
  for (const char* program : programs) {
    execve(program, argv, envp);
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  return {Step::program, error};
}

Error not_started(const SpawnPlan& plan, const Failure& failure) {
  errno = failure.error;
  Error error = system_failure("not_started", "an action can't be started");
  if (failure.step == Step::program) {
    error.fault = Fault::input;
    error.code = failure.error == ENOENT ? "no_such_program" : "not_started";
    error.message =
        "'" + plan.arguments.front().substr(0, 200) + "' can't be started: " + std::strerror(failure.error);
  } else if (failure.step == Step::cwd) {
    error.fault = Fault::input;
    error.code = "no_such_cwd";
    error.message = "the working folder '" + plan.cwd.substr(0, 200) +
                    "' can't be entered: " + std::strerror(failure.error);
  } else {
    error.message += " (step " + std::to_string(static_cast<int>(failure.step)) + ")";
  }
  return error;
}

}  // namespace

Result<pid_t> spawn(const SpawnPlan& plan) {
  const std::vector<std::string> programs = candidates(plan.arguments.front(), plan.environment);
  std::vector<const char*> program_pointers;
  program_pointers.reserve(programs.size());
  for (const std::string& program : programs) program_pointers.push_back(program.c_str());
  const std::vector<char*> argv = pointers(plan.arguments);
  const std::vector<char*> envp = pointers(plan.environment);
  // Written by the child in our memory, so it must not live in a register.
  volatile int step = 0;
  volatile int error = 0;
  const pid_t pid = vfork();
  if (pid == 0) {
    const Failure failure = become(plan, program_pointers, argv.data(), envp.data());
    step = static_cast<int>(failure.step);
    error = failure.error;
    _exit(127);
  }
  if (pid < 0) return system_failure("not_started", "no process can be made");
  if (step == 0) return pid;
  // It has exited, and nobody else knows of it.
  while (waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED) != 0 && errno == EINTR) {
  }
  return not_started(plan, {static_cast<Step>(static_cast<int>(step)), static_cast<int>(error)});
}

}  // namespace forkpoint::sandbox
