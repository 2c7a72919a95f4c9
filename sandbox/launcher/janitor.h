// Janitor: a process that removes what sandboxes leave, so that nobody waits for it; and, when the launcher
// is gone by whatever death, everything that the launcher had.
//
// Owned by the launcher, which is single-threaded.
#pragma once

#include <filesystem>

#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/launcher/cgroup.h"
#include "sandbox/launcher/state_folder.h"

namespace forkpoint::sandbox {

class Janitor {
 public:
  // Forks. Its first work is to sweep what dead launchers left below `base`.
  static Result<Janitor> start(const StateFolder& state, const Cgroups& cgroups,
                               const std::filesystem::path& base);

  // Removes the folder soon. What can't be told to the janitor goes when the launcher ends.
  void remove(const std::filesystem::path& folder);

 private:
  explicit Janitor(core::UniqueFd paths) : paths_(std::move(paths)) {}
  core::UniqueFd paths_;  // a pipe: its end is the launcher's
};

}  // namespace forkpoint::sandbox
