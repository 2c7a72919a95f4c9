#include "core/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#define BOOST_PROCESS_USE_STD_FS 1  // else Boost.Filesystem, a library of its own
#include <boost/process/v2/posix/vfork_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>
#include <cerrno>
#include <csignal>

namespace forkpoint::core {
namespace {

namespace process = boost::process::v2;

constexpr int kPassedFd = 3;

// An initializer of Boost.Process: our descriptor at its place, an empty environment. (posix::bind_fd of
// Boost 1.81 lacks a return statement.)
struct Inheritance {
  int fd;

  process::error_code on_setup(process::posix::default_launcher& launcher, const process::filesystem::path&,
                               const char* const*) const {
    static const char* const nothing[] = {nullptr};
    launcher.env = nothing;
    launcher.fd_whitelist.push_back(kPassedFd);
    return {};
  }

  process::error_code on_exec_setup(process::posix::default_launcher&, const process::filesystem::path&,
                                    const char* const*) const {
    // dup2 of a descriptor to itself would leave it close-on-exec.
    const int rc = fd == kPassedFd ? fcntl(fd, F_SETFD, 0) : dup2(fd, kPassedFd);
    return rc < 0 ? process::error_code(errno, process::system_category()) : process::error_code();
  }
};

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::filesystem::path& program,
                                         const std::vector<std::string>& arguments, int fd) {
  try {
    boost::asio::io_context context;
    process::error_code error;
    auto child =
        process::posix::vfork_launcher()(context, error, program.string(), arguments,
                                         process::process_stdio{nullptr, nullptr, {}}, Inheritance{fd});
    if (error) {
      Error failed =
          system_error(error.value(), "not_started", "'" + program.string() + "' can't be started");
      failed.fault = Fault::host;
      return failed;
    }
    const pid_t pid = child.id();
    child.detach();  // we wait ourselves
    return ChildProcess(pid);
  } catch (const std::exception& exception) {
    return Error{.code = "not_started",
                 .message = "'" + program.string() + "' can't be started: " + exception.what()};
  }
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  wait();
}

void ChildProcess::wait() {
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace forkpoint::core
