// ActionRunner: runs one action after the other in this sandbox, and keeps what lasts between them: the
// shell's state, background processes, and the pipes that those still hold.
//
// Part of init; single-threaded.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "sandbox/exec_wire.h"
#include "sandbox/init/output_ring.h"
#include "sandbox/init/process_tree.h"
#include "sandbox/init/shell_state.h"

namespace forkpoint::sandbox {

class ActionRunner {
 public:
  // `control`: the socket to the launcher, for questions about disk usage; not owned. `fds`: those of
  // InitStart.
  ActionRunner(InitStart start, std::vector<core::UniqueFd> fds, int control);
  ~ActionRunner();

  // Makes the shell's pipe. Call once, before anything else.
  Result<void> prepare();

  Result<ExecResult> run(const ActionRequest& request);

  // What of earlier actions still runs.
  std::vector<BackgroundProcess> background();

  // Descriptors to poll for reading between actions, and what to do when one is ready.
  std::vector<int> background_fds() const;
  void drain_background();
  // Collects the dead that are nobody's business any more. Call on SIGCHLD between actions.
  void reap();

  // For a snapshot.
  std::string encoded_shell_state() const { return encode_shell_state(shell_); }
  // From above: what others wrote to the same file system meanwhile counts too.
  std::uint64_t disk_bytes_estimate() const;

 private:
  struct Running;

  Result<SpawnPlan> plan_for(const ActionRequest& request) const;
  // A relative path is below the workspace.
  std::string inside(const std::string& path) const;
  Result<void> write_restoring_script(const ActionRequest& request);
  Result<void> open_output(Running& running, SpawnPlan& plan, std::vector<core::UniqueFd>& child_ends);
  void wait_for_ending(Running& running);
  void read_output(Running& running);
  void read_shell_dump(Running& running);
  void reap_during(Running& running);
  void check_events(Running& running);
  void check_usage(Running& running);
  static std::uint64_t bytes_written(const Running& running, const std::vector<pid_t>& pids);
  // `pids`: the members of the action's tree.
  void check_disk(Running& running, const std::vector<pid_t>& pids, bool at_end);
  std::optional<std::uint64_t> ask_disk_bytes();
  void stop(Running& running, LimitKind limit);
  void stop_greediest(Running& running, LimitKind limit);
  ExecResult finish(Running& running);
  void keep_shell_state(const Running& running, ShellState state);
  std::unique_ptr<ProcessTree> make_tree();
  // The persistent shell: started where it does not live, given one step, its pipes opened for it.
  Result<void> start_in_process_of_its_own(Running& running);
  Result<void> start_in_persistent_shell(Running& running);
  Result<void> start_persistent_shell();
  Result<core::UniqueFd> make_fifo(const char* name);
  Result<void> write_channel_file(const char* name, const std::string& text);

  InitStart start_;
  std::map<std::string, std::vector<core::UniqueFd>> fds_;
  int control_;
  ShellChannel channel_;
  core::UniqueFd dump_pipe_;
  ShellState shell_;
  std::string script_written_;
  std::uint64_t actions_ = 0;
  std::uint64_t oom_events_seen_ = 0;
  std::uint64_t pids_events_seen_ = 0;
  std::uint64_t disk_free_bytes_ = 0;     // of the file system, when the usage was last known
  std::uint64_t disk_usage_bytes_ = 0;    // of this sandbox, at that time
  std::uint64_t disk_written_bytes_ = 0;  // by earlier actions, since that time
  std::vector<std::unique_ptr<ProcessTree>> trees_;
  std::vector<core::UniqueFd> background_pipes_;
  std::unique_ptr<ProcessTree> shell_tree_;  // of the persistent shell, while it lives
  pid_t shell_pid_ = -1;
  core::UniqueFd go_;  // where it gets its steps
};

}  // namespace forkpoint::sandbox
