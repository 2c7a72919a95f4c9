// become_init: what a new sandbox's first process does between clone and exec: its file tree, its devices,
// its name, its network, its privileges; then it is forkpoint-init.
//
// Runs in the child, which may allocate: the launcher has one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "sandbox/launcher/seccomp.h"
#include "sandbox/level.h"
#include "sandbox/policy.h"

namespace forkpoint::sandbox {

struct ChildSetup {
  Level level = Level::l2;
  std::vector<std::pair<int, std::string>> volumes;  // detached mounts and where they go, "/" first
  std::filesystem::path mount_point;                 // any folder, to build the tree on
  std::string hostname;
  Network network = Network::none;
  std::uint64_t shm_bytes_max = 0;
  int devices = -1;               // a detached mount for /dev (devices.h)
  bool root_is_machines = false;  // user 0 inside is user 0 of the machine
  int control = -1;               // becomes 3
  int client = -1;                // becomes 4
  int init = -1;                  // the program
  int ids_mapped = -1;            // a byte comes when the ids are mapped (L2, L3)
  const SystemCallFilter* filter = nullptr;
  // At L1, in the place of namespaces: called when no privilege can be gained any more, with every descriptor
  // still open.
  std::function<Result<void>()> confine = {};
  std::int64_t user = -1;   // user and group id to become, at L1; -1: as it is
  std::int64_t group = -1;  // besides
};

// Where init keeps the shell's pipe and script, at L2 and L3.
inline constexpr char kChannelFolder[] = "/dev/forkpoint";

// Where it can't, it says why on the control socket, and exits.
[[noreturn]] void become_init(const ChildSetup& setup);

}  // namespace forkpoint::sandbox
