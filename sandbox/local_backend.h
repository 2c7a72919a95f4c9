// LocalBackend: sandboxes on this machine, made by a launcher of its own.
//
//   FORKPOINT_ASSIGN_OR_RETURN(auto backend, LocalBackend::start());
//
// Starts forkpoint-sandboxd and speaks to it. Any number of threads may use one backend; sandboxes and
// snapshots keep the launcher alive, so the backend's handle may go first. When this process dies, by
// whatever signal, the launcher ends everything. When the launcher dies, calls fail with `sandbox_lost`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "sandbox/sandbox.h"

namespace forkpoint::sandbox {

struct LocalBackendOptions {
  Level level_max = Level::l3;
  // Where forkpoint-sandboxd and forkpoint-init are; empty: beside this program, or where FORKPOINT_LIBEXEC
  // says.
  std::filesystem::path programs;
  // Where uppers and layers go: a file system that can hold an overlay's upper. Empty: FORKPOINT_STATE, else
  // /var/tmp, else /dev/shm.
  std::filesystem::path state;
};

// What the launcher found of the machine.
struct MachineFeature {
  std::string name;
  bool ok = false;
  std::string detail;
  std::string advice;  // what would give more; empty where nothing is missing
};

class LocalBackend : public Backend {
 public:
  // Errors: Fault::host where programs are missing or nothing can hold sandboxes; `level_too_low`.
  static Result<std::shared_ptr<LocalBackend>> start(const LocalBackendOptions& options = {});

  virtual const std::vector<MachineFeature>& features() const = 0;
  virtual int launcher_pid() const = 0;
};

}  // namespace forkpoint::sandbox
