// Cgroups: hard limits on memory, processes and processor time, and ends of whole process trees.
//
// Works with version 2, version 1, and both at once (controllers in v1, cgroup.kill in v2). What is there is
// found out by making a cgroup, not by reading versions. Single-threaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/policy.h"

namespace forkpoint::sandbox {

// One sandbox's cgroups; gone with the object, which must come after the last process.
class SandboxCgroup {
 public:
  SandboxCgroup() = default;
  SandboxCgroup(SandboxCgroup&&) noexcept = default;
  SandboxCgroup& operator=(SandboxCgroup&&) noexcept = default;
  ~SandboxCgroup();

  // What init needs, by the names of exec_wire.h.
  const std::vector<std::pair<std::string, core::UniqueFd>>& init_fds() const { return init_fds_; }
  // Where init itself is to live (v2): outside the limits. -1: no v2.
  int init_folder() const { return init_folder_.get(); }
  // The v2 folder of everything of this sandbox; empty: none.
  void kill_all() const;

 private:
  friend class Cgroups;
  void give(const char* name, core::UniqueFd fd);

  std::vector<std::pair<std::string, core::UniqueFd>> init_fds_;
  core::UniqueFd init_folder_;
  std::filesystem::path v2_;
  std::vector<std::filesystem::path> v1_;
};

class Cgroups {
 public:
  // Finds what can be used and makes the launcher's own folders, "forkpoint-ID". `found()` says what there
  // is.
  static Cgroups open(const std::string& launcher_id);
  Cgroups() = default;
  Cgroups(Cgroups&&) noexcept = default;
  Cgroups& operator=(Cgroups&&) noexcept = default;
  ~Cgroups();

  // Every limit of the policy is enforced by the kernel, and trees can be ended.
  bool complete() const { return limits_memory() && limits_pids() && !v2_.empty(); }
  bool limits_memory() const { return v2_memory_ || v1_.contains("memory"); }
  bool limits_pids() const { return v2_pids_ || v1_.contains("pids"); }
  bool limits_cpu() const { return v2_cpu_ || v1_.contains("cpu"); }
  bool kills_trees() const { return !v2_.empty(); }
  // "memory, pids and cpu by version 1, trees by version 2".
  std::string found() const;

  // Makes what init itself is started in (version 2). `owner`: the user id that init has outside.
  Result<SandboxCgroup> create(const std::string& name, const Limits& limits, std::int64_t owner) const;
  // Makes what only actions join (version 1); while init comes up, since each takes its time.
  Result<void> complete(SandboxCgroup& cgroup, const std::string& name, const Limits& limits) const;

  // Removes what launchers of these ids left.
  void sweep(const std::vector<std::string>& launcher_ids) const;

 private:
  std::filesystem::path v2_;  // this launcher's folder
  bool v2_memory_ = false;
  bool v2_pids_ = false;
  bool v2_cpu_ = false;
  std::map<std::string, std::filesystem::path> v1_;  // by controller
};

}  // namespace forkpoint::sandbox
