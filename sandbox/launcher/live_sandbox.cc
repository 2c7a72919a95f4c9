#include "sandbox/launcher/live_sandbox.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "sandbox/exec_wire.h"
#include "sandbox/failure.h"
#include "sandbox/inside_path.h"
#include "sandbox/launcher/child.h"
#include "sandbox/launcher/devices.h"
#include "sandbox/launcher/overlay.h"
#include "sandbox/squash.h"
#include "sandbox/wire.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

// Lookups get slower with each layer, and mounts with many.
constexpr std::size_t kLayersMax = 48;
constexpr int kInitNice = -10;

Error failed(std::string message) { return host_failure("sandbox_failed", std::move(message)); }

Result<void> make_folder(const fs::path& path, std::int64_t owner) {
  if (mkdir(path.c_str(), 0755) != 0 ||
      (owner >= 0 && chown(path.c_str(), static_cast<uid_t>(owner), static_cast<gid_t>(owner)) != 0)) {
    return failed("'" + path.string() + "' can't be made");
  }
  return {};
}

std::string random_token() {
  std::uint64_t words[2] = {};
  (void)!getrandom(words, sizeof words, 0);
  std::string token = "forkpoint";
  for (std::uint64_t word : words) {
    for (int i = 0; i < 8; ++i, word >>= 8) token += "abcdefghijklmnopqrstuvwxyz012345"[word & 31];
  }
  return token;
}

// `folders`: what differs where the state is not the root.
std::map<std::string, std::string> environment_of(const SandboxPolicy& policy, const std::string& workspace,
                                                  const std::map<std::string, std::string>& folders) {
  std::map<std::string, std::string> environment = {
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"HOME", "/root"},
      {"USER", "root"},
      {"LOGNAME", "root"},
      {"SHELL", "/bin/bash"},
      {"TERM", "dumb"},
      {"LANG", "C.UTF-8"},
      {"TZ", "UTC"},
      {"PWD", workspace},
      // No pager, no prompt: nobody is there to answer.
      {"PAGER", "cat"},
      {"GIT_PAGER", "cat"},
      {"MANPAGER", "cat"},
      {"GIT_TERMINAL_PROMPT", "0"},
      {"DEBIAN_FRONTEND", "noninteractive"},
      // What would differ from run to run.
      {"PYTHONHASHSEED", "0"},
      {"PYTHONDONTWRITEBYTECODE", "1"},
      {"GIT_AUTHOR_DATE", "2000-01-01T00:00:00Z"},
      {"GIT_COMMITTER_DATE", "2000-01-01T00:00:00Z"},
      // A workspace keeps its owner; git would refuse it.
      {"GIT_CONFIG_COUNT", "1"},
      {"GIT_CONFIG_KEY_0", "safe.directory"},
      {"GIT_CONFIG_VALUE_0", "*"},
  };
  for (const auto& [name, value] : folders) environment[name] = value;
  for (const auto& [name, value] : policy.environment) environment[name] = value;
  return environment;
}

}  // namespace

Result<std::unique_ptr<LiveSandbox>> LiveSandbox::start(Machine& machine, const std::string& id,
                                                        SandboxState state) {
  std::unique_ptr<LiveSandbox> sandbox(new LiveSandbox(machine, id, std::move(state)));
  FORKPOINT_RETURN_IF_ERROR(sandbox->mount_volumes());
  const std::string cgroup = "s" + id;
  const Limits& limits = sandbox->state_.policy.limits;
  FORKPOINT_ASSIGN_OR_RETURN(sandbox->cgroup_, machine.cgroups().create(cgroup, limits, machine.owner()));
  FORKPOINT_RETURN_IF_ERROR(sandbox->start_init());
  FORKPOINT_RETURN_IF_ERROR(machine.cgroups().complete(sandbox->cgroup_, cgroup, limits));
  FORKPOINT_RETURN_IF_ERROR(sandbox->send_start());
  return sandbox;
}

LiveSandbox::~LiveSandbox() {
  end_init();
  volumes_.clear();
  if (!folder_.empty()) machine_.discard(folder_);
}

Result<void> LiveSandbox::mount_volumes() {
  FORKPOINT_ASSIGN_OR_RETURN(folder_, machine_.state().make_live_folder());
  for (std::size_t i = 0; i < state_.volumes.size(); ++i) {
    OverlaySpec spec{.level = machine_.level()};
    for (const LayerRef& layer : state_.volumes[i].layers) spec.lowers.push_back(layer->path());
    for (const BaseFolderRef& base : state_.volumes[i].base) spec.lowers.push_back(base->lower());
    spec.upper = folder_ / ("u" + std::to_string(i));
    spec.work = folder_ / ("w" + std::to_string(i));
    FORKPOINT_RETURN_IF_ERROR(make_folder(spec.upper, machine_.owner()));
    FORKPOINT_RETURN_IF_ERROR(make_folder(spec.work, machine_.owner()));
    // Short paths: the kernel takes a page of options.
    const fs::path& root = machine_.state().path();
    for (fs::path& lower : spec.lowers) {
      const fs::path relative = lower.lexically_relative(root);
      if (!relative.empty() && *relative.begin() != "..") lower = relative;
    }
    spec.upper = spec.upper.lexically_relative(root);
    spec.work = spec.work.lexically_relative(root);
    Volume volume{.upper = root / spec.upper, .mount = {}};
    FORKPOINT_ASSIGN_OR_RETURN(volume.mount, mount_overlay(spec, "mount"));
    volumes_.push_back(std::move(volume));
  }
  return {};
}

pid_t LiveSandbox::start_process(std::uint64_t flags) {
  int process = -1;
  clone_args arguments{};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&process);
  arguments.exit_signal = SIGCHLD;
  if (cgroup_.init_folder() >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup_.init_folder());
  }
  const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid <= 0) return pid;
  pid_ = pid;
  process_.reset(process);
  return pid;
}

Result<void> LiveSandbox::start_init() {
  FORKPOINT_ASSIGN_OR_RETURN(SocketPair control, make_socket_pair());
  FORKPOINT_ASSIGN_OR_RETURN(SocketPair client, make_socket_pair());
  int mapped[2] = {-1, -1};
  if (pipe2(mapped, O_CLOEXEC) != 0) return failed("no pipe");
  const core::UniqueFd mapped_reader(mapped[0]);
  const core::UniqueFd mapped_writer(mapped[1]);

  FORKPOINT_ASSIGN_OR_RETURN(const core::UniqueFd devices, copy_devices(machine_.devices()));
  const SandboxPolicy& policy = state_.policy;
  ChildSetup setup{
      .level = machine_.level(),
      .volumes = {},
      .mount_point = "mount",  // from the current folder: what leads there is closed to the sandbox's ids
      .hostname = policy.hostname,
      .network = policy.network,
      .shm_bytes_max = std::max<std::uint64_t>(policy.limits.memory_bytes_max / 4, 1 << 20),
      .devices = devices.get(),
      .root_is_machines =
          machine_.level() == Level::l2 && getuid() == 0 && machine_.namespaces().ids.count > 1,
      .control = control.theirs.get(),
      .client = client.theirs.get(),
      .init = machine_.init_program(),
      .ids_mapped = mapped_reader.get(),
      .filter = &machine_.filter()};
  for (std::size_t i = 0; i < volumes_.size(); ++i) {
    setup.volumes.emplace_back(volumes_[i].mount.get(), state_.volumes[i].mount_point);
  }
  std::uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
  if (policy.network == Network::none) flags |= CLONE_NEWNET;
  const pid_t pid = start_process(flags);
  if (pid < 0) return failed("no process in new namespaces can be made");
  if (pid == 0) become_init(setup);
  // Before its actions, on a busy machine too: where memory runs out it has to be quicker than what runs
  // next.
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(pid_), kInitNice);
  control_ = std::move(control.ours);
  client_end_ = std::move(client.ours);
  IdRange ids = machine_.namespaces().ids;
  FORKPOINT_RETURN_IF_ERROR(map_ids(pid_, ids));
  if (write(mapped_writer.get(), "m", 1) != 1) return failed("a new sandbox died at once");
  return {};
}

Result<void> LiveSandbox::send_start() {
  InitStart start;
  start.limits = state_.policy.limits;
  start.shell = state_.policy.shell;
  start.workspace = workspace();
  start.root = root();
  start.root_before = state_.root;
  start.environment = environment_of(state_.policy, start.workspace,
                                     tree_ ? tree_->environment() : decltype(start.environment){});
  start.shared_user = tree_ && tree_->owner < 0;
  start.shm_folder = tree_ ? "" : "/dev/shm";
  start.channel_folder = tree_ ? tree_->channel().string() : kChannelFolder;
  start.shell_state = state_.shell_state;
  start.token = random_token();
  start.disk_bytes_before = state_.disk_bytes;
  std::vector<int> fds;
  for (const auto& [name, fd] : cgroup_.init_fds()) {
    start.fds.push_back(name);
    fds.push_back(fd.get());
  }
  return send_message(control_.get(), MessageType::start, 0, encode(start), fds);
}

void LiveSandbox::end_init() {
  if (pid_ <= 0) return;
  // Process 1 takes its whole process namespace along; a keeper must be asked to end what is below it.
  syscall(SYS_pidfd_send_signal, process_.get(), tree_ ? SIGTERM : SIGKILL, nullptr, 0);
  cgroup_.kill_all();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  process_.reset();
  control_.reset();
  lifeline_.reset();
}

std::string LiveSandbox::workspace() const { return seen_path(kWorkspacePath, root()); }

Result<SandboxState> LiveSandbox::freeze() {
  for (std::size_t i = 0; i < volumes_.size(); ++i) {
    const auto frozen = set_read_only(volumes_[i].mount.get(), true);
    if (frozen) continue;
    while (i-- > 0) (void)set_read_only(volumes_[i].mount.get(), false);
    return frozen.error();
  }
  end_init();
  SandboxState state = state_;
  for (std::size_t i = 0; i < volumes_.size(); ++i) {
    volumes_[i].mount.reset();
    FORKPOINT_ASSIGN_OR_RETURN(LayerRef layer, machine_.freeze(volumes_[i].upper));
    if (layer) state.volumes[i].layers.insert(state.volumes[i].layers.begin(), std::move(layer));
    auto& layers = state.volumes[i].layers;
    if (layers.size() <= kLayersMax) continue;
    const fs::path path = machine_.state().new_layer_path();
    FORKPOINT_RETURN_IF_ERROR(
        squash(state.volumes[i].folders(), layers.size(), xattrs_of(machine_.level()), path));
    layers = {std::make_shared<const Layer>(path, machine_.state(), machine_.janitor())};
  }
  return state;
}

std::vector<LiveSandbox::VolumeFolders> LiveSandbox::folders() const {
  if (tree_)
    return {{.mount_point = root(), .now = {tree_->root()}, .origin = state_.origin.front().folders()}};
  std::vector<VolumeFolders> found;
  for (std::size_t i = 0; i < volumes_.size(); ++i) {
    VolumeFolders folders{
        .mount_point = state_.volumes[i].mount_point, .now = {volumes_[i].upper}, .origin = {}};
    for (const fs::path& folder : state_.volumes[i].folders()) folders.now.push_back(folder);
    folders.origin = state_.origin[i].folders();
    found.push_back(std::move(folders));
  }
  return found;
}

}  // namespace forkpoint::sandbox
