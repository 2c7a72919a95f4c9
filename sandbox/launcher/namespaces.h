// The launcher's own namespaces, the ids of its sandboxes, and idmapped mounts.
//
// Single-threaded; call enter_namespaces() before anything is mounted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/level.h"

namespace forkpoint::sandbox {

// The ids 0 to count-1 inside a sandbox are first, first+1, ... for whoever maps them (the launcher).
struct IdRange {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
};

// Where the range of root's sandboxes begins: far from people and services, below 2^31.
inline constexpr std::uint32_t kRootIdFirst = 2'000'000'000;
inline constexpr std::uint32_t kIdCount = 65536;

struct Namespaces {
  Level level = Level::none;
  IdRange ids;               // what a sandbox's user namespace maps to
  core::UniqueFd id_userns;  // a user namespace that holds the same mapping (L3), for idmapped mounts
  std::string detail;        // "65536 ids from 2000000000"
};

// What the process can be: tries L3 (where it is root), then L2, up to `level_max`; at L2 the process itself
// moves into a user namespace. Mounts made afterwards vanish with the process. Level::l1 or none where
// neither works: nothing changed. `why_not`: what stood in the way of a higher level, one line each.
Namespaces enter_namespaces(Level level_max, std::vector<std::string>& why_not);

// Writes the maps of a new child's user namespace.
Result<void> map_ids(pid_t pid, const IdRange& ids);

// A mount of `folder` (not of what is mounted below it) in which owner 0 on disk is `first` of the range;
// attached at `target`.
Result<void> mount_idmapped(const std::filesystem::path& folder, const std::filesystem::path& target,
                            int id_userns);

}  // namespace forkpoint::sandbox
