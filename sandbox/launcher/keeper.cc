#include "sandbox/launcher/keeper.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <set>
#include <vector>

#include "core/unique_fd.h"
#include "sandbox/init/process_tree.h"

namespace forkpoint::sandbox {
namespace {

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  return signals;
}

// Collects the dead; whether `init` was one of them.
bool reap(pid_t init) {
  bool found = false;
  for (pid_t pid = waitpid(-1, nullptr, WNOHANG); pid > 0; pid = waitpid(-1, nullptr, WNOHANG)) {
    found = found || pid == init;
  }
  return found;
}

void wait_for_end(int lifeline, pid_t init) {
  const sigset_t signals = watched_signals();
  const core::UniqueFd signal_fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  for (;;) {
    pollfd fds[] = {{lifeline, POLLIN, 0}, {signal_fd.get(), POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if (fds[0].revents != 0) return;
    signalfd_siginfo info{};
    bool told = false;
    while (read(signal_fd.get(), &info, sizeof info) > 0) told = told || info.ssi_signo == SIGTERM;
    if (reap(init) || told) return;
  }
}

// All that live below us. A zombie whose parent lives is that parent's business, and dies with it.
std::vector<pid_t> living() {
  std::vector<pid_t> pids;
  for (const ProcessInfo& process : descendants(list_processes(), {getpid()})) {
    if (!process.is_dead()) pids.push_back(process.pid);
  }
  return pids;
}

// A table of processes is not read at one moment, so it is looked at until nothing is left to see, and
// nothing left to wait for.
void end_all() {
  for (;;) {
    const std::set<pid_t> seen = stop_all(living);
    for (const pid_t pid : seen) kill(pid, SIGKILL);
    reap(-1);
    if (seen.empty() && waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

[[noreturn]] void keep(int lifeline, const std::function<void()>& become_init) {
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t signals = watched_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const pid_t init = fork();
  if (init == 0) {
    sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    become_init();
    _exit(1);
  }
  close_all_but(lifeline);
  if (init > 0) wait_for_end(lifeline, init);
  end_all();
  _exit(0);
}

}  // namespace forkpoint::sandbox
