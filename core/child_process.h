// ChildProcess: a helper program of ours, started without copying this process's memory.
//
// Movable, not copyable; not synchronized. The destructor ends the process and waits for it: none is left as
// a zombie.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace forkpoint::core {

class ChildProcess {
 public:
  // `fd` becomes descriptor 3 of the child, which gets standard error besides, an empty standard input and
  // output, no other descriptor, and an empty environment. Error: `not_started` (Fault::host).
  static Result<ChildProcess> start(const std::filesystem::path& program,
                                    const std::vector<std::string>& arguments, int fd);

  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  pid_t pid() const { return pid_; }

  // Waits for its end. Once.
  void wait();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace forkpoint::core
