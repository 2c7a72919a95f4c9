// LiveSandbox: one running sandbox, as the launcher sees it: its volumes with their uppers, its cgroup, its
// init.
//
// Single-threaded. Destroying it ends every process in it and gives its files to the janitor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/launcher/folder_tree.h"
#include "sandbox/launcher/machine.h"
#include "sandbox/overlay_view.h"
#include "sandbox/policy.h"

namespace forkpoint::sandbox {

// What a sandbox goes on from.
struct SandboxState {
  SandboxPolicy policy;
  std::vector<VolumeStack> volumes;
  std::vector<VolumeStack> origin;  // as it was when its line began: what changes are told against
  std::string shell_state;          // encoded; empty at the beginning
  std::uint64_t disk_bytes = 0;     // an estimate from above of what all layers since the beginning hold
  // At L1, where a layer is a whole copy:
  std::string root = "/";              // the root that the shell's state speaks of
  std::uint64_t disk_bytes_first = 0;  // of the first copy, which does not count
};

class LiveSandbox {
 public:
  // Starts init. It says `ready` or `failed` on control(); until then nothing may be asked of it.
  static Result<std::unique_ptr<LiveSandbox>> start(Machine& machine, const std::string& id,
                                                    SandboxState state);
  // The same at L1, in folders that were made for it and are its own from now on (folder_sandbox.cc).
  static Result<std::unique_ptr<LiveSandbox>> start(Machine& machine, const std::string& id,
                                                    SandboxState state, FolderTree tree);
  ~LiveSandbox();
  LiveSandbox(const LiveSandbox&) = delete;
  LiveSandbox& operator=(const LiveSandbox&) = delete;

  const std::string& id() const { return id_; }
  const SandboxState& state() const { return state_; }
  int control() const { return control_.get(); }
  // Where its state begins in the machine's file tree, and what it calls its workspace.
  std::string root() const { return tree_ ? tree_->root().string() : "/"; }
  std::string workspace() const;
  // At L1.
  const std::optional<FolderTree>& tree() const { return tree_; }
  // The client's end of the socket to init; once.
  core::UniqueFd take_client_end() { return std::move(client_end_); }

  // The state frozen, init gone; not at L1, where it is copied. On `still_written` the sandbox goes on as
  // before; after any other error it is dead.
  Result<SandboxState> freeze();

  // The folders of each volume as they are now, upper first, and of its origin.
  struct VolumeFolders {
    std::string mount_point;
    std::vector<std::filesystem::path> now;
    std::vector<std::filesystem::path> origin;
  };
  std::vector<VolumeFolders> folders() const;

 private:
  LiveSandbox(Machine& machine, std::string id, SandboxState state)
      : machine_(machine), id_(std::move(id)), state_(std::move(state)) {}

  Result<void> mount_volumes();
  Result<void> start_init();
  Result<void> start_init_in_folders();
  // clone3 with `flags`, into the cgroup if there is one: 0 in the child, below 0 on an error.
  pid_t start_process(std::uint64_t flags);
  Result<void> send_start();
  void end_init();

  struct Volume {
    std::filesystem::path upper;
    core::UniqueFd mount;
  };

  Machine& machine_;
  std::string id_;
  SandboxState state_;
  SandboxCgroup cgroup_;
  std::filesystem::path folder_;
  std::vector<Volume> volumes_;
  std::optional<FolderTree> tree_;
  core::UniqueFd lifeline_;  // at L1: the sandbox ends with it
  core::UniqueFd control_;
  core::UniqueFd client_end_;
  core::UniqueFd process_;  // pidfd of init, at L1 of its keeper
  pid_t pid_ = -1;
};

}  // namespace forkpoint::sandbox
