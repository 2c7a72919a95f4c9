// spawn: starts one program, by vfork, so that its cost does not grow with the caller.
//
// Single-threaded callers only.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace forkpoint::sandbox {

struct SpawnPlan {
  std::vector<std::string> arguments;    // arguments[0] is looked up in PATH of `environment`
  std::vector<std::string> environment;  // "NAME=value"
  std::string cwd;
  int stdio[3] = {-1, -1, -1};
  std::vector<int> cgroup_procs;       // open for writing; the child puts itself into each
  void (*before_exec)(int) = nullptr;  // called in the child with `before_exec_fd`; must not allocate
  int before_exec_fd = -1;
  std::vector<std::pair<int, rlim_t>> limits;        // resource, soft and hard
  std::vector<std::pair<int, rlimit>> exact_limits;  // set before those, as far as allowed
};

// The pid. A program that can't be started is an error of Fault::input: `no_such_program`, `no_such_cwd`,
// `not_started`.
Result<pid_t> spawn(const SpawnPlan& plan);

}  // namespace forkpoint::sandbox
