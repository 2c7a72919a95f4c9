// Level: how strongly this machine can isolate a sandbox, from nothing to everything.
//
// Detected by probe_host() (doctor.h), printed with each result, and never weakened silently: a policy that
// demands more than the machine gives is an error of Fault::host. Plain value.
#pragma once

#include <optional>
#include <string_view>

namespace forkpoint::sandbox {

enum class Level {
  none,  // not even Landlock: no sandbox at all
  l1,    // Landlock, seccomp and rlimits; a fork is a copy at another path
  l2,    // an unprivileged user namespace: own file tree, processes, network; rlimits, or a delegated cgroup
  l3,    // root: a user namespace of mapped ids, and cgroups
};

// "none", "L1", "L2", "L3".
std::string_view to_string(Level level);
std::optional<Level> level_from_string(std::string_view name);

}  // namespace forkpoint::sandbox
