// LiveSandbox at level L1: no namespaces, no mounts; a keeper, a ruleset and filters.
#include <fcntl.h>
#include <unistd.h>

#include "sandbox/failure.h"
#include "sandbox/launcher/child.h"
#include "sandbox/launcher/folder_filter.h"
#include "sandbox/launcher/keeper.h"
#include "sandbox/launcher/landlock.h"
#include "sandbox/launcher/live_sandbox.h"
#include "sandbox/wire.h"

namespace forkpoint::sandbox {
namespace {

Error failed(std::string message) { return host_failure("sandbox_failed", std::move(message)); }

}  // namespace

Result<std::unique_ptr<LiveSandbox>> LiveSandbox::start(Machine& machine, const std::string& id,
                                                        SandboxState state, FolderTree tree) {
  std::unique_ptr<LiveSandbox> sandbox(new LiveSandbox(machine, id, std::move(state)));
  sandbox->folder_ = tree.folder;
  sandbox->tree_ = std::move(tree);
  FORKPOINT_RETURN_IF_ERROR(sandbox->start_init_in_folders());
  FORKPOINT_RETURN_IF_ERROR(sandbox->send_start());
  return sandbox;
}

Result<void> LiveSandbox::start_init_in_folders() {
  FORKPOINT_ASSIGN_OR_RETURN(SocketPair control, make_socket_pair());
  FORKPOINT_ASSIGN_OR_RETURN(SocketPair client, make_socket_pair());
  int lifeline[2] = {-1, -1};
  if (pipe2(lifeline, O_CLOEXEC) != 0) return failed("no pipe");
  const core::UniqueFd lifeline_reader(lifeline[0]);
  lifeline_.reset(lifeline[1]);
  const Network network = state_.policy.network;
  FORKPOINT_ASSIGN_OR_RETURN(const core::UniqueFd ruleset, machine_.landlock().ruleset_for(*tree_, network));
  FolderFilterOptions filter{.network = network,
                             .shared_user = tree_->owner < 0,
                             .guarded = {getpid(), getppid(), getpgid(getppid())}};  // of launcher and client
  ChildSetup setup{.level = machine_.level(),
                   .volumes = {},
                   .mount_point = {},
                   .hostname = {},
                   .network = network,
                   .control = control.theirs.get(),
                   .client = client.theirs.get(),
                   .init = machine_.init_program(),
                   .filter = &machine_.filter(),
                   .user = tree_->owner,
                   .group = machine_.users().group()};
  setup.confine = [&filter, &ruleset]() -> Result<void> {
    filter.guarded.push_back(getpid());
    filter.guarded.push_back(getppid());  // the keeper
    FORKPOINT_RETURN_IF_ERROR(enter_ruleset(ruleset.get()));
    return enter_folder_filter(filter);
  };
  const pid_t pid = start_process(0);
  if (pid < 0) return failed("no process can be made");
  if (pid == 0) keep(lifeline_reader.get(), [&setup] { become_init(setup); });
  control_ = std::move(control.ours);
  client_end_ = std::move(client.ours);
  return {};
}

}  // namespace forkpoint::sandbox
