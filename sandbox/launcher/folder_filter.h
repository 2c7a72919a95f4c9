// The system calls that level L1 refuses on top of SystemCallFilter: those by which a sandbox without
// namespaces would reach what is not its own, and which Landlock does not see.
#pragma once

#include <sys/types.h>

#include <vector>

#include "core/result.h"
#include "sandbox/policy.h"

namespace forkpoint::sandbox {

struct FolderFilterOptions {
  Network network = Network::none;
  // The sandbox's user is one who has other processes too: with services that listen for them on sockets.
  bool shared_user = true;
  // Nobody inside may send these a signal: init, which lives with its actions, and who made it.
  std::vector<pid_t> guarded = {};
};

// Enters it, for good; needs no_new_privs. Error `no_seccomp` (Fault::host).
Result<void> enter_folder_filter(const FolderFilterOptions& options);

}  // namespace forkpoint::sandbox
