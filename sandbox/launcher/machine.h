// Machine: the launcher's means: its namespaces, where it keeps state, cgroups, the system call filter,
// images.
//
// Made once, at start; single-threaded.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/launcher/cgroup.h"
#include "sandbox/launcher/host_image.h"
#include "sandbox/launcher/janitor.h"
#include "sandbox/launcher/landlock.h"
#include "sandbox/launcher/namespaces.h"
#include "sandbox/launcher/sandbox_users.h"
#include "sandbox/launcher/seccomp.h"
#include "sandbox/launcher/state_folder.h"
#include "sandbox/level.h"
#include "sandbox/overlay_view.h"
#include "sandbox/policy.h"

namespace forkpoint::sandbox {

// What `sandbox doctor` shows of one means.
struct Feature {
  std::string name;
  bool ok = false;
  std::string detail;
  std::string advice;
};

// A folder that is used as a lower, through a mount with mapped ids where the level has them; unmounted with
// the last user.
class BaseFolder {
 public:
  BaseFolder(std::filesystem::path real, std::filesystem::path mounted)
      : real_(std::move(real)), mounted_(std::move(mounted)) {}
  ~BaseFolder();
  BaseFolder(const BaseFolder&) = delete;
  BaseFolder& operator=(const BaseFolder&) = delete;

  const std::filesystem::path& real() const { return real_; }                                 // to read
  const std::filesystem::path& lower() const { return mounted_.empty() ? real_ : mounted_; }  // to mount

 private:
  std::filesystem::path real_;
  std::filesystem::path mounted_;
};
using BaseFolderRef = std::shared_ptr<const BaseFolder>;

// A frozen upper; removed with the last user.
class Layer {
 public:
  Layer(std::filesystem::path path, StateFolder& state, Janitor& janitor)
      : path_(std::move(path)), state_(state), janitor_(janitor) {}
  ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  StateFolder& state_;
  Janitor& janitor_;
};
using LayerRef = std::shared_ptr<const Layer>;

// One overlay of a state: where it is mounted and what it is made of, top first.
struct VolumeStack {
  std::string mount_point;
  std::vector<LayerRef> layers = {};
  std::vector<BaseFolderRef> base = {};

  // As folders to read, top first.
  std::vector<std::filesystem::path> folders() const;
};

struct MachineOptions {
  Level level_max = Level::l3;
  std::vector<std::filesystem::path> state_bases;  // the first that can hold an overlay's upper is used
  std::filesystem::path init_program;
};

class Machine {
 public:
  static Result<std::unique_ptr<Machine>> open(const MachineOptions& options);

  Level level() const { return namespaces_.level; }
  const Namespaces& namespaces() const { return namespaces_; }
  const Cgroups& cgroups() const { return cgroups_; }
  const SystemCallFilter& filter() const { return *filter_; }
  // At L1.
  const LandlockRules& landlock() const { return *landlock_; }
  const SandboxUsers& users() const { return users_; }
  const std::vector<Feature>& features() const { return features_; }
  int init_program() const { return init_program_.get(); }
  // What make_devices() built.
  std::filesystem::path devices() const { return state_->path() / "dev"; }
  StateFolder& state() { return *state_; }
  Janitor& janitor() { return *janitor_; }
  // The id that a sandbox's root has for us; -1 where it is our own.
  std::int64_t owner() const;

  // The stacks of a new sandbox. Images that must be unpacked first are given as their layers, top first.
  Result<std::vector<VolumeStack>> volumes_of(const SandboxPolicy& policy,
                                              const std::vector<std::filesystem::path>& unpacked);

  // The frozen upper as a layer: moved to a name of its own. Nothing where the upper is empty.
  Result<LayerRef> freeze(const std::filesystem::path& upper);
  // Moves the folder out of the way; the janitor removes it.
  void discard(const std::filesystem::path& folder);

 private:
  Machine() = default;
  Result<void> check_landlock(const std::vector<std::string>& why_not);
  Result<void> find_state_folder(const MachineOptions& options);
  void open_cgroups();
  Result<BaseFolderRef> base_folder(const std::filesystem::path& folder, bool map);
  void note(std::string name, bool ok, std::string detail, std::string advice = "");

  Namespaces namespaces_;
  std::optional<StateFolder> state_;
  Cgroups cgroups_;
  std::optional<Janitor> janitor_;
  std::optional<SystemCallFilter> filter_;
  std::optional<LandlockRules> landlock_;
  SandboxUsers users_;
  core::UniqueFd init_program_;
  std::vector<Feature> features_;
  std::optional<std::vector<VolumeStack>> host_;
  std::map<std::filesystem::path, std::weak_ptr<const BaseFolder>> bases_;
  std::uint64_t next_base_ = 0;
};

}  // namespace forkpoint::sandbox
