// Sandbox: one isolated machine state: files, a shell's state, and the processes that live in it.
//
//   FORKPOINT_ASSIGN_OR_RETURN(auto backend, LocalBackend::start());
//   FORKPOINT_ASSIGN_OR_RETURN(auto sandbox, backend->create({.workspace = "repo"}));
//   FORKPOINT_ASSIGN_OR_RETURN(const ExecResult result, sandbox->run("make test"));
//   FORKPOINT_ASSIGN_OR_RETURN(const SnapshotRef snapshot, sandbox->snapshot());
//   FORKPOINT_ASSIGN_OR_RETURN(auto fork, backend->fork(snapshot));     // goes on from the same state
//
// Interfaces, implemented by each backend (local_backend.h) and by test doubles; every implementation passes
// tests/sandbox/conformance. Thread-safety: a Sandbox serves one call at a time and makes further callers
// wait; a Backend may be called from any thread. Ownership: a sandbox and all that lives in it ends with its
// handle; a snapshot lives as long as anyone holds it or a fork of it.
//
// Errors are of Boundary::sandbox: Fault::input where the caller asked for what can't be, Fault::host where
// the machine lacks something, Fault::transient (`sandbox_lost`) where launcher or sandbox died.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sandbox/changed_files.h"
#include "sandbox/exec_result.h"
#include "sandbox/policy.h"

namespace forkpoint::sandbox {

// What one action may differ in from its sandbox's policy. Limits can only be narrowed.
struct ExecOptions {
  std::string stdin_bytes;                         // then end of file; empty: end of file at once
  std::map<std::string, std::string> environment;  // for this action only
  std::string cwd;                                 // empty: where the last action ended
  std::optional<double> wall_s_max;
  std::optional<double> cpu_time_s_max;
  std::optional<std::uint64_t> output_bytes_max;
  bool separate_output = false;
};

struct FolderEntry {
  std::string name;
  char type = 'f';  // f file, d folder, l link, p fifo, s socket, c and b devices
  std::uint32_t mode = 0;
  std::uint64_t size_bytes = 0;
};

inline constexpr std::uint64_t kReadBytesMax = std::uint64_t{64} << 20;
inline constexpr std::size_t kCommandBytesMax = std::size_t{1} << 20;

// An immutable state: layers, and the shell's blob. Shared; gone when nobody holds it.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  virtual std::string id() const = 0;
  virtual std::size_t layers() const = 0;  // above the image and the workspace as they were given
};
using SnapshotRef = std::shared_ptr<const Snapshot>;

struct TreeHashOptions {
  std::string root = kWorkspacePath;
  // Patterns on the path below `root`, "*" within a name.
  std::vector<std::string> leave_out = {"*.pyc", ".git/index"};
};

class Sandbox {
 public:
  virtual ~Sandbox() = default;

  virtual std::string id() const = 0;
  virtual Level level() const = 0;
  // Its path as actions see it; /workspace except at L1, where each sandbox has its own. There /workspace and
  // /tmp are understood by all that follows, and other absolute paths of files are refused.
  virtual std::string workspace() const = 0;

  // Runs a shell command in the sandbox's shell state, and keeps the state that it leaves.
  virtual Result<ExecResult> run(std::string_view command, const ExecOptions& options = {}) = 0;
  // Runs a program, without a shell; the shell's state is neither used nor changed.
  virtual Result<ExecResult> exec(const std::vector<std::string>& arguments,
                                  const ExecOptions& options = {}) = 0;

  // Files, by paths as actions see them; only regular files, never through a link out of the sandbox.
  virtual Result<std::string> read_file(std::string_view path, std::uint64_t bytes_max = kReadBytesMax) = 0;
  virtual Result<void> write_file(std::string_view path, std::string_view bytes,
                                  std::uint32_t mode = 0644) = 0;
  virtual Result<std::vector<FolderEntry>> list_folder(std::string_view path,
                                                       std::size_t entries_max = 100'000) = 0;

  virtual Result<std::vector<BackgroundProcess>> processes() = 0;

  // Freezes the state; the sandbox goes on from it. Refused (`not_quiet`, with the list) while processes
  // live.
  virtual Result<SnapshotRef> snapshot() = 0;

  // What differs from the state that the sandbox (or the one it was forked from) began with, or from `since`,
  // which must be a snapshot that this sandbox descends from. Sorted by path.
  virtual Result<std::vector<ChangedFile>> changed_files(const SnapshotRef& since = nullptr) = 0;
  // A hash of names, types, modes, link targets and contents; not of times and owners.
  virtual Result<std::string> tree_hash(const TreeHashOptions& options = {}) = 0;

  // Ends everything that lives in it. The destructor does the same and drops the error.
  virtual Result<void> close() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Level level() const = 0;
  virtual Result<std::unique_ptr<Sandbox>> create(const SandboxPolicy& policy) = 0;
  // A new sandbox that goes on from the snapshot, with the policy of the one it was taken of.
  virtual Result<std::unique_ptr<Sandbox>> fork(const SnapshotRef& snapshot) = 0;
};

}  // namespace forkpoint::sandbox
