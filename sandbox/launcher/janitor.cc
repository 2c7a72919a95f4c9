#include "sandbox/launcher/janitor.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "core/temp_dir.h"
#include "sandbox/failure.h"

namespace forkpoint::sandbox {
namespace {

[[noreturn]] void clean(int paths, int ready, const StateFolder& state, const Cgroups& cgroups,
                        const std::filesystem::path& base) {
  setsid();
  // What the launcher will mount below its state folder, the machine's own folders among it, is not to be
  // seen by whoever removes that folder. (Refused only where nothing can be mounted; remove_tree() looks out
  // for mounts besides.)
  (void)unshare(CLONE_NEWNS);
  (void)!write(ready, "r", 1);
  close(ready);
  (void)!nice(10);
  std::signal(SIGTERM, SIG_IGN);
  cgroups.sweep(sweep_state_folders(base));
  std::string pending;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(paths, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    pending.append(buffer, static_cast<std::size_t>(count));
    for (std::size_t end = pending.find('\0'); end != std::string::npos; end = pending.find('\0')) {
      (void)core::remove_tree(pending.substr(0, end));
      pending.erase(0, end + 1);
    }
  }
  // The launcher is dead, and with it every sandbox: each was tied to it.
  cgroups.sweep({state.id()});
  (void)core::remove_tree(state.path());
  _exit(0);
}

}  // namespace

Result<Janitor> Janitor::start(const StateFolder& state, const Cgroups& cgroups,
                               const std::filesystem::path& base) {
  int fds[2] = {-1, -1};
  int ready[2] = {-1, -1};
  const bool made = pipe2(fds, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0;
  const pid_t pid = made ? fork() : -1;
  if (pid < 0) {
    return system_failure("no_janitor", "the janitor can't be started");
  }
  if (pid == 0) {
    // It keeps the launcher's lock, so that nobody sweeps beside it; the client's socket above all must end
    // with the launcher.
    for (int fd = 0; fd < 1024; ++fd) {
      if (fd != fds[0] && fd != ready[1] && fd != state.lock()) close(fd);
    }
    clean(fds[0], ready[1], state, cgroups, base);
  }
  close(fds[0]);
  close(ready[1]);
  char byte = 0;
  (void)!read(ready[0], &byte, 1);  // nothing may be mounted before it has its own view of the mounts
  close(ready[0]);
  return Janitor(core::UniqueFd(fds[1]));
}

void Janitor::remove(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  const std::string text = folder.string() + '\0';
  (void)!write(paths_.get(), text.data(), text.size());
}

}  // namespace forkpoint::sandbox
