#include "sandbox/launcher/machine.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/file.h"
#include "core/temp_dir.h"
#include "sandbox/failure.h"
#include "sandbox/launcher/devices.h"
#include "sandbox/launcher/overlay.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

// Whether an overlay can have its upper in `state`.
Result<void> try_overlay(StateFolder& state, Level level) {
  FORKPOINT_ASSIGN_OR_RETURN(const fs::path folder, state.make_live_folder());
  OverlaySpec spec{
      .lowers = {folder / "lower"}, .upper = folder / "upper", .work = folder / "work", .level = level};
  for (const fs::path& path : {spec.lowers.front(), spec.upper, spec.work}) {
    FORKPOINT_RETURN_IF_ERROR(core::make_folders(path));
  }
  auto mounted = mount_overlay(spec, state.path() / "mount");
  if (!mounted) return mounted.error();
  mounted->reset();
  return core::remove_tree(folder);
}

// Whether sandboxes at L1, which see `state` by its own path, can live there.
Result<void> try_folder(const fs::path& state, const SandboxUsers& users) {
  constexpr char kPlain[] = "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@%,:=";
  if (state.string().find_first_not_of(kPlain) != std::string::npos) {
    return input_error("state_folder_failed",
                       "its path holds characters that shells quote, and at L1 sandboxes see it");
  }
  const auto can_enter = [&state] { return access(state.c_str(), X_OK) == 0; };
  if (users.own() && !holds_for_user(users.user_of(0), users.group(), can_enter)) {
    return input_error("state_folder_failed",
                       "users other than root can't enter a folder above it (chmod o+x)");
  }
  return {};
}

}  // namespace

BaseFolder::~BaseFolder() {
  if (mounted_.empty()) return;
  umount2(mounted_.c_str(), MNT_DETACH);
  rmdir(mounted_.c_str());
}

Layer::~Layer() { janitor_.remove(state_.set_aside(path_)); }

std::vector<fs::path> VolumeStack::folders() const {
  std::vector<fs::path> found;
  for (const LayerRef& layer : layers) found.push_back(layer->path());
  for (const BaseFolderRef& folder : base) found.push_back(folder->real());
  return found;
}

void Machine::note(std::string name, bool ok, std::string detail, std::string advice) {
  features_.push_back({std::move(name), ok, std::move(detail), std::move(advice)});
}

std::int64_t Machine::owner() const {
  return namespaces_.level == Level::l3 ? static_cast<std::int64_t>(namespaces_.ids.first) : -1;
}

Result<void> Machine::find_state_folder(const MachineOptions& options) {
  std::string tried;
  for (const fs::path& base : options.state_bases) {
    auto state = StateFolder::create(base, owner(), users_.group());
    if (state) {
      const auto works =
          level() >= Level::l2 ? try_overlay(*state, level()) : try_folder(state->path(), users_);
      if (works) {
        state_ = std::move(*state);
        note("state_folder", true, base.string());
        return {};
      }
      tried += (tried.empty() ? "" : "; ") + base.string() + ": " + works.error().message;
      (void)core::remove_tree(state->path());
    } else {
      tried += (tried.empty() ? "" : "; ") + base.string() + ": " + state.error().message;
    }
  }
  return Error{
      .boundary = Boundary::sandbox,
      .fault = Fault::host,
      .code = "no_state_folder",
      .message = "no folder can hold sandboxes: " + tried,
      .advice =
          "set FORKPOINT_STATE to a folder on a real file system or a tmpfs (in a container: a volume)"};
}

Result<void> Machine::check_landlock(const std::vector<std::string>& why_not) {
  const int abi = landlock_abi();
  const std::string gaps = landlock_gaps(abi);
  const std::string version = "ABI " + std::to_string(abi) + (gaps.empty() ? "" : ", without: " + gaps);
  const std::string advice =
      "L1 needs Landlock: Linux 5.13 or newer with 'landlock' in its list of security modules (lsm=), and in "
      "a "
      "container a seccomp profile that allows it";
  note("landlock", abi > 0, abi > 0 ? version : "none", abi > 0 || level() > Level::l1 ? "" : advice);
  if (level() > Level::l1) return {};
  if (level() == Level::l1 && abi > 0) {
    FORKPOINT_ASSIGN_OR_RETURN(landlock_, LandlockRules::build(init_program_.get()));
    users_ = SandboxUsers::find();
    note("own_users", users_.own(),
         users_.own()
             ? "each sandbox is a user of its own"
             : "sandboxes are the user that started them: modes, owners and times of that user's other "
               "files are open to them",
         users_.own() || geteuid() == 0 ? "" : "as root, L1 gives each sandbox a user of its own");
    return {};
  }
  Error error{.boundary = Boundary::sandbox,
              .fault = Fault::host,
              .code = "level_too_low",
              .message = "this machine can isolate nothing: neither namespaces nor Landlock",
              .advice = advice};
  for (const std::string& reason : why_not) error.advice += "; " + reason;
  return error;
}

void Machine::open_cgroups() {
  if (level() == Level::l1) {
    // What is in a cgroup's folder could be written by whoever is in the sandbox.
    note("cgroups", false, "not used at L1: memory and process limits are enforced by polling and rlimits");
    return;
  }
  cgroups_ = Cgroups::open(state_->id());
  const bool all = cgroups_.complete();
  note("cgroups", all, cgroups_.found(),
       all ? ""
           : "memory and process limits are enforced by polling and rlimits: run as root with "
             "writable cgroups, or in a "
             "delegated one (systemd-run --user --scope -p Delegate=yes)");
}

Result<std::unique_ptr<Machine>> Machine::open(const MachineOptions& options) {
  std::unique_ptr<Machine> machine(new Machine);
  std::vector<std::string> why_not;
  machine->init_program_.reset(::open(options.init_program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!machine->init_program_) {
    return Error{.boundary = Boundary::sandbox,
                 .fault = Fault::host,
                 .code = "no_init",
                 .message = "'" + options.init_program.string() + "' can't be opened",
                 .advice = "it belongs beside forkpoint-sandboxd"};
  }
  machine->namespaces_ = enter_namespaces(options.level_max, why_not);
  const Level level = machine->level();
  machine->note("user_namespaces", level >= Level::l2,
                level >= Level::l2 ? machine->namespaces_.detail : "none");
  for (const std::string& reason : why_not) {
    machine->note(reason.starts_with("L3") ? "root_with_mapped_ids" : "unprivileged_user_namespaces", false,
                  reason, reason);
  }
  FORKPOINT_RETURN_IF_ERROR(machine->check_landlock(why_not));
  FORKPOINT_RETURN_IF_ERROR(machine->find_state_folder(options));
  machine->open_cgroups();
  FORKPOINT_ASSIGN_OR_RETURN(machine->filter_, SystemCallFilter::build());
  machine->note("seccomp", true, "system calls are filtered");
  FORKPOINT_ASSIGN_OR_RETURN(machine->janitor_, Janitor::start(*machine->state_, machine->cgroups_,
                                                               machine->state_->path().parent_path()));
  // After the janitor: it is not to see what is mounted.
  if (level >= Level::l2) FORKPOINT_RETURN_IF_ERROR(make_devices(machine->devices()));
  return machine;
}

Result<BaseFolderRef> Machine::base_folder(const fs::path& folder, bool map) {
  if (const auto known = bases_.find(folder); known != bases_.end()) {
    if (BaseFolderRef alive = known->second.lock()) return alive;
  }
  fs::path mounted;
  if (map && level() == Level::l3) {
    mounted = state_->path() / ("b" + std::to_string(next_base_++));
    if (mkdir(mounted.c_str(), 0711) != 0) return core::file_unwritable(mounted);
    if (const auto done = mount_idmapped(folder, mounted, namespaces_.id_userns.get()); !done) {
      rmdir(mounted.c_str());
      return done.error();
    }
  }
  auto made = std::make_shared<const BaseFolder>(folder, mounted);
  bases_[folder] = made;
  return BaseFolderRef(made);
}

Result<std::vector<VolumeStack>> Machine::volumes_of(const SandboxPolicy& policy,
                                                     const std::vector<fs::path>& unpacked) {
  std::vector<VolumeStack> volumes;
  if (policy.image == "host") {
    if (!host_) {
      FORKPOINT_ASSIGN_OR_RETURN(const auto image,
                                 make_host_image(state_->path() / "host", xattrs_of(level()), owner()));
      host_.emplace();
      for (const ImageVolume& volume : image) {
        VolumeStack stack{.mount_point = volume.mount_point};
        for (const fs::path& folder : volume.own_layers) {
          FORKPOINT_ASSIGN_OR_RETURN(auto base, base_folder(folder, false));
          stack.base.push_back(std::move(base));
        }
        for (const fs::path& folder : volume.host_layers) {
          FORKPOINT_ASSIGN_OR_RETURN(auto base, base_folder(folder, true));
          stack.base.push_back(std::move(base));
        }
        host_->push_back(std::move(stack));
      }
    }
    volumes = *host_;
  } else {
    VolumeStack root{.mount_point = "/"};
    const bool ours = !unpacked.empty();
    for (const fs::path& folder : ours ? unpacked : std::vector<fs::path>{policy.image}) {
      FORKPOINT_ASSIGN_OR_RETURN(auto base, base_folder(folder, !ours));
      root.base.push_back(std::move(base));
    }
    FORKPOINT_ASSIGN_OR_RETURN(const fs::path skeleton,
                               make_skeleton(state_->path() / "skeleton", false, owner()));
    FORKPOINT_ASSIGN_OR_RETURN(auto lowest, base_folder(skeleton, false));
    root.base.push_back(std::move(lowest));
    volumes.push_back(std::move(root));
  }
  if (!policy.workspace.empty()) {
    FORKPOINT_ASSIGN_OR_RETURN(auto base, base_folder(policy.workspace, true));
    volumes.push_back({.mount_point = kWorkspacePath, .base = {std::move(base)}});
  }
  return volumes;
}

Result<LayerRef> Machine::freeze(const fs::path& upper) {
  std::error_code ignored;
  if (fs::is_empty(upper, ignored)) return LayerRef();
  const fs::path path = state_->new_layer_path();
  if (rename(upper.c_str(), path.c_str()) != 0)
    return input_error("freeze_failed", "an upper can't be made a layer");
  return LayerRef(std::make_shared<const Layer>(path, *state_, *janitor_));
}

void Machine::discard(const fs::path& folder) { janitor_->remove(state_->set_aside(folder)); }

}  // namespace forkpoint::sandbox
