// SystemCallFilter: which system calls a sandbox may make: all but a list of denied ones, each with its
// reason, and none that is newer than what we know.
//
// Built once, entered by each sandbox's first process; holds for everything it starts. Immutable after
// build().
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"

namespace forkpoint::sandbox {

class SystemCallFilter {
 public:
  // Error `no_seccomp` (Fault::host).
  static Result<SystemCallFilter> build();

  // Enters the filter; needs no_new_privs.
  Result<void> enter() const;

 private:
  // BPF instructions as the kernel takes them (struct sock_filter), of the list, and of the check for newer
  // calls.
  std::vector<std::uint64_t> denied_;
  std::vector<std::uint64_t> newer_;
};

}  // namespace forkpoint::sandbox
