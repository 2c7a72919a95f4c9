#include "core/unique_fd.h"

#include <unistd.h>

#include <cerrno>

#include "core/check.h"

namespace forkpoint::core {

void UniqueFd::reset(int fd) {
  FORKPOINT_CHECK(fd < 0 || fd != fd_, "a descriptor can't be handed to the UniqueFd that owns it");
  if (fd_ >= 0) {
    const int saved_errno = errno;
    // close(2) frees the descriptor even when it fails with EINTR: calling it again could close
    // another thread's new descriptor.
    ::close(fd_);
    errno = saved_errno;
  }
  fd_ = fd;
}

}  // namespace forkpoint::core
