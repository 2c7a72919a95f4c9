// What sandboxes could leave behind on a machine, counted. Test helper.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>

namespace forkpoint::tests {

// Of one launcher: its living descendants, its descriptors and mounts, its cgroups, files in its state
// folder.
struct Traces {
  std::size_t processes = 0;
  std::size_t launcher_fds = 0;
  std::size_t own_fds = 0;
  std::size_t mounts = 0;
  std::size_t cgroups = 0;
  std::size_t live_folders = 0;
  bool operator==(const Traces&) const = default;
};
std::ostream& operator<<(std::ostream& stream, const Traces& traces);

// Cgroups whose path holds `name`.
std::size_t cgroups_of(const std::string& name);

Traces traces_of(pid_t launcher);

// Asks until the traces are the expected ones, or ten seconds are over; what they were last. The janitor
// needs a moment.
Traces wait_for_traces(pid_t launcher, const Traces& expected);

bool becomes_true(const std::function<bool()>& condition);

}  // namespace forkpoint::tests
