// forkpoint-init: process 1 of a sandbox (at L1, the parent of its processes).
//
// Started by the launcher with two sockets: 3 speaks to the launcher, 4 to the client. Takes one request
// after the other, runs actions, reaps, reports, and survives whatever the actions do. Static, so that it
// needs nothing of the sandbox's file system.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>

#include "sandbox/exec_wire.h"
#include "sandbox/failure.h"
#include "sandbox/init/action.h"
#include "sandbox/inside_path.h"
#include "sandbox/wire.h"

namespace forkpoint::sandbox {
namespace {

constexpr int kControl = 3;
constexpr int kClient = 4;

Error file_error(const std::string& path, const char* what) {
  Error error = system_failure("file_failed", "'" + path + "' " + what);
  error.fault = Fault::input;
  if (errno == ENXIO || errno == EISDIR) error.code = "not_a_file";  // ENXIO: a pipe that nobody reads
  if (errno == ENOENT || errno == ENOTDIR) error.code = "no_such_file";
  if (errno == ELOOP || errno == EXDEV) error.code = "link_refused";  // EXDEV: it leads out
  return error;
}

Error not_a_file(const std::string& path, const char* what) {
  return {.boundary = Boundary::sandbox,
          .fault = Fault::input,
          .code = "not_a_file",
          .message = "'" + path + "' is " + what};
}

// Below `root`, which links can't leave; never through /proc's magic links. At L1 an absolute link begins at
// that root too, as above it.
core::UniqueFd open_beneath(const std::string& root, const std::string& path, std::uint64_t flags,
                            std::uint64_t mode) {
  const std::optional<std::string> below = state_path(path, root);
  if (!below) {
    errno = EXDEV;
    return {};
  }
  const core::UniqueFd folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: something was renamed while ".." was looked at, and the kernel would not swear that it stays
  // beneath.
  constexpr int kAttemptsMax = 1000;
  int fd = -1;
  for (int attempt = 0; attempt < kAttemptsMax && fd < 0; ++attempt) {
    fd = static_cast<int>(syscall(SYS_openat2, folder.get(), below->c_str(), &how, sizeof how));
    if (fd < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  return core::UniqueFd(fd);
}

// Files of the kernel (proc, sysfs, cgroup) and of /dev are not the sandbox's state.
bool is_kernel_file(int fd) {
  struct statfs status {};
  if (fstatfs(fd, &status) != 0) return true;
  constexpr long kProc = 0x9fa0;
  constexpr long kSys = 0x62656572;
  constexpr long kCgroup = 0x27e0eb;
  constexpr long kCgroup2 = 0x63677270;
  return status.f_type == kProc || status.f_type == kSys || status.f_type == kCgroup ||
         status.f_type == kCgroup2;
}

class Init {
 public:
  int run() {
    prctl(PR_SET_DUMPABLE, 0);  // else an action of the same user could trace us
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, nullptr);
    signals_.reset(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    if (const auto started = start(); !started) {
      (void)send_message(kControl, MessageType::failed, 0, encode_error(started.error()));
      return 1;
    }
    (void)send_message(kControl, MessageType::ready, 0, "");
    while (serve()) {
    }
    return 0;
  }

 private:
  Result<void> start() {
    FORKPOINT_ASSIGN_OR_RETURN(auto message, receive_message(kControl));
    if (!message || message->type != MessageType::start) return bad_body(MessageType::start);
    auto start = decode_init_start(message->body);
    if (!start || start->fds.size() != message->fds.size()) return bad_body(MessageType::start);
    root_ = start->root;
    shm_folder_ = start->shm_folder;
    runner_ = std::make_unique<ActionRunner>(std::move(*start), std::move(message->fds), kControl);
    return runner_->prepare();
  }

  // One round; false when there is nobody left to serve.
  bool serve() {
    std::vector<pollfd> fds = {
        {kControl, POLLIN, 0}, {client_open_ ? kClient : -1, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    for (const int fd : runner_->background_fds()) fds.push_back({fd, POLLIN, 0});
    if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return false;
    if ((fds[0].revents & POLLHUP) != 0) return false;
    if ((fds[0].revents & POLLIN) != 0) (void)receive_message(kControl);  // an answer that came too late
    if (fds[2].revents != 0) {
      signalfd_siginfo info{};
      while (read(signals_.get(), &info, sizeof info) > 0) {
      }
      runner_->reap();
    }
    runner_->drain_background();
    if (fds[1].revents != 0) {
      auto message = receive_message(kClient);
      if (!message || !message->has_value()) {
        client_open_ = false;
      } else {
        answer(**message);
      }
    }
    return true;
  }

  void answer(const Message& message) {
    switch (message.type) {
      case MessageType::exec: return exec(message);
      case MessageType::open: return open_file(message);
      case MessageType::list: return list_folder(message);
      case MessageType::processes: return reply(message, MessageType::done, encode(runner_->background()));
      case MessageType::quiesce: return quiesce(message);
      default: return refuse(message, bad_body(message.type));
    }
  }

  void reply(const Message& to, MessageType type, const std::string& body, const std::vector<int>& fds = {}) {
    (void)send_message(kClient, type, to.id, body, fds);
  }
  void refuse(const Message& to, const Error& error) { reply(to, MessageType::failed, encode_error(error)); }

  void exec(const Message& message) {
    const auto request = decode_action_request(message.body);
    if (!request) return refuse(message, bad_body(message.type));
    const Result<ExecResult> result = runner_->run(*request);
    if (!result) return refuse(message, result.error());
    reply(message, MessageType::exec_done, encode(*result));
  }

  void open_file(const Message& message) {
    Reader reader(message.body);
    const std::string path = reader.text();
    const bool writing = reader.boolean();
    const std::uint32_t mode = reader.u32();
    if (!reader.complete()) return refuse(message, bad_body(message.type));
    const std::uint64_t flags = writing ? O_WRONLY | O_CREAT : O_RDONLY;
    const mode_t old_umask = umask(0);
    const core::UniqueFd fd = open_beneath(root_, path, flags | O_NONBLOCK | O_NOCTTY, writing ? mode : 0);
    const int error = errno;
    umask(old_umask);
    errno = error;
    if (!fd) return refuse(message, file_error(path, writing ? "can't be written" : "can't be read"));
    struct stat status {};
    if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
      return refuse(message, not_a_file(path, "not a regular file"));
    if (is_kernel_file(fd.get())) return refuse(message, not_a_file(path, "a file of the kernel"));
    if (writing && (ftruncate(fd.get(), 0) != 0 || fchmod(fd.get(), mode) != 0)) {
      return refuse(message, file_error(path, "can't be written"));
    }
    reply(message, MessageType::done, Writer().u64(static_cast<std::uint64_t>(status.st_size)).take(),
          {fd.get()});
  }

  void list_folder(const Message& message) {
    Reader reader(message.body);
    const std::string path = reader.text();
    const std::uint64_t entries_max = reader.u64();
    if (!reader.complete()) return refuse(message, bad_body(message.type));
    core::UniqueFd fd = open_beneath(root_, path, O_RDONLY | O_DIRECTORY, 0);
    DIR* folder = fd ? fdopendir(fd.get()) : nullptr;
    if (folder == nullptr) return refuse(message, file_error(path, "can't be listed"));
    fd.release();
    std::uint32_t count = 0;
    Writer entries;
    bool too_many = false;
    while (const dirent* entry = readdir(folder)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat status {};
      if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (++count > entries_max) {
        too_many = true;
        break;
      }
      entries.text(name).u32(status.st_mode).u64(static_cast<std::uint64_t>(status.st_size));
    }
    closedir(folder);
    if (too_many) {
      return refuse(
          message, {.boundary = Boundary::sandbox,
                    .fault = Fault::input,
                    .code = "too_many_entries",
                    .message = "'" + path + "' holds more than " + std::to_string(entries_max) + " entries"});
    }
    reply(message, MessageType::done, Writer().u32(count).take() + entries.take());
  }

  // What stands in the way of a snapshot, and the shell's state.
  void quiesce(const Message& message) {
    runner_->reap();
    std::string in_the_way;
    for (const BackgroundProcess& process : runner_->background()) {
      in_the_way += (in_the_way.empty() ? "" : ", ") + std::to_string(process.pid) + " " + process.command;
    }
    if (in_the_way.empty()) in_the_way = shared_memory();
    reply(message, MessageType::done,
          Writer()
              .text(in_the_way)
              .text(runner_->encoded_shell_state())
              .u64(runner_->disk_bytes_estimate())
              .take());
  }

  std::string shared_memory() const {
    if (DIR* folder = shm_folder_.empty() ? nullptr : opendir(shm_folder_.c_str())) {
      std::string found;
      while (const dirent* entry = readdir(folder)) {
        if (entry->d_name[0] != '.') found = shm_folder_ + "/" + entry->d_name;
      }
      closedir(folder);
      if (!found.empty()) return found;
    }
    if (shm_folder_.empty()) return "";
    for (const char* kind : {"shm", "sem", "msg"}) {
      const std::string path = std::string("/proc/sysvipc/") + kind;
      const std::string table = read_small_file(AT_FDCWD, path.c_str());
      const std::size_t heading = table.find('\n');
      if (heading != std::string::npos && heading + 1 < table.size()) return "System V objects in " + path;
    }
    return "";
  }

  core::UniqueFd signals_;
  bool client_open_ = true;
  std::string root_;
  std::string shm_folder_;
  std::unique_ptr<ActionRunner> runner_;
};

}  // namespace
}  // namespace forkpoint::sandbox

int main() { return forkpoint::sandbox::Init().run(); }
