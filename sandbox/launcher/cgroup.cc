#include "sandbox/launcher/cgroup.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sandbox/exec_wire.h"
#include "sandbox/failure.h"
#include "sandbox/launcher/kernel_file.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "forkpoint-";

std::string read_text(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream stream(text);
  return std::find(std::istream_iterator<std::string>(stream), {}, word) !=
         std::istream_iterator<std::string>();
}

// A cgroup whose last process has just died may be busy for a moment.
void remove_cgroup(const fs::path& path) {
  if (rmdir(path.c_str()) == 0) return;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.is_directory(ignored)) remove_cgroup(entry.path());
  }
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (rmdir(path.c_str()) == 0 || errno != EBUSY) return;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

struct Hierarchy {
  fs::path mount;
  std::vector<std::string> controllers;  // of version 1; empty: version 2
  std::string own;                       // our own cgroup in it, "/..."
};

// The last word of a mountinfo line holds version 1's controllers; /proc/self/cgroup says where we are.
std::vector<Hierarchy> hierarchies() {
  std::vector<Hierarchy> found;
  std::istringstream mounts(read_text("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash));
    std::istringstream right(line.substr(dash + 3));
    std::string skip;
    Hierarchy hierarchy;
    std::string mount;
    left >> skip >> skip >> skip >> skip >> mount;
    std::string type;
    std::string options;
    right >> type >> skip >> options;
    hierarchy.mount = mount;
    if (type == "cgroup") {
      std::istringstream list(options);
      for (std::string word; std::getline(list, word, ',');) {
        if (word == "memory" || word == "pids" || word == "cpu") hierarchy.controllers.push_back(word);
      }
      if (hierarchy.controllers.empty()) continue;
    } else if (type != "cgroup2") {
      continue;
    }
    found.push_back(std::move(hierarchy));
  }
  std::istringstream own(read_text("/proc/self/cgroup"));
  for (std::string line; std::getline(own, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string names = line.substr(first + 1, second - first - 1);
    std::replace(names.begin(), names.end(), ',', ' ');
    for (Hierarchy& hierarchy : found) {
      const bool match =
          hierarchy.controllers.empty() ? names.empty() : has_word(names, hierarchy.controllers.front());
      if (match) hierarchy.own = line.substr(second + 1);
    }
  }
  return found;
}

// Where to make our folder: below our own cgroup, beside it (where processes live in it, version 2 gives no
// controllers to its children), or at the top.
std::vector<fs::path> places(const Hierarchy& hierarchy) {
  const fs::path own = hierarchy.mount / fs::path(hierarchy.own).relative_path();
  std::vector<fs::path> found = {own, own.parent_path(), hierarchy.mount};
  const std::string mount = hierarchy.mount.string();
  std::erase_if(found, [&](const fs::path& place) { return !place.string().starts_with(mount); });
  return found;
}

core::UniqueFd open_for(const fs::path& path, int flags) {
  return core::UniqueFd(::open(path.c_str(), flags | O_CLOEXEC));
}

Error failed(const fs::path& path, const char* what) {
  return host_failure("cgroup_failed", "cgroup '" + path.string() + "' " + what,
                      "'forkpoint sandbox doctor' says what this machine gives");
}

std::string cpu_quota_us(double cpus) {
  return std::to_string(std::max<long long>(1000, std::llround(cpus * 1e5)));
}

}  // namespace

SandboxCgroup::~SandboxCgroup() {
  init_fds_.clear();
  init_folder_.reset();
  if (!v2_.empty()) {
    for (const char* name : {"work", "init"}) remove_cgroup(v2_ / name);
    remove_cgroup(v2_);
  }
  for (const fs::path& path : v1_) remove_cgroup(path);
}

void SandboxCgroup::give(const char* name, core::UniqueFd fd) {
  if (fd) init_fds_.emplace_back(name, std::move(fd));
}

void SandboxCgroup::kill_all() const {
  if (!v2_.empty()) write_kernel_file(v2_ / "cgroup.kill", "1");
}

namespace {

// Gives on what `path` has of controller `name`.
bool delegate(const fs::path& path, const char* name) {
  return has_word(read_text(path / "cgroup.controllers"), name) &&
         write_kernel_file(path / "cgroup.subtree_control", std::string("+") + name);
}

}  // namespace

Cgroups Cgroups::open(const std::string& launcher_id) {
  Cgroups cgroups;
  const std::string name = kPrefix + launcher_id;
  for (const Hierarchy& hierarchy : hierarchies()) {
    for (const fs::path& place : places(hierarchy)) {
      const fs::path path = place / name;
      if (mkdir(path.c_str(), 0755) != 0) continue;
      if (!hierarchy.controllers.empty()) {
        for (const std::string& controller : hierarchy.controllers) cgroups.v1_.emplace(controller, path);
        break;
      }
      const bool memory = delegate(path, "memory");
      // The first place that works serves for trees; one with controllers is better.
      if (!fs::exists(path / "cgroup.kill") || (!cgroups.v2_.empty() && !memory)) {
        rmdir(path.c_str());
        continue;
      }
      if (!cgroups.v2_.empty()) rmdir(cgroups.v2_.c_str());
      cgroups.v2_ = path;
      cgroups.v2_memory_ = memory;
      cgroups.v2_pids_ = delegate(path, "pids");
      cgroups.v2_cpu_ = delegate(path, "cpu");
      if (memory) break;
    }
  }
  return cgroups;
}

Cgroups::~Cgroups() {
  if (!v2_.empty()) remove_cgroup(v2_);
  for (const auto& [controller, path] : v1_) {
    if (fs::exists(path)) remove_cgroup(path);
  }
}

std::string Cgroups::found() const {
  const auto how = [this](bool v2, const char* controller) {
    return std::string(controller) + (v2 ? " v2" : v1_.contains(controller) ? " v1" : " none");
  };
  return how(v2_memory_, "memory") + ", " + how(v2_pids_, "pids") + ", " + how(v2_cpu_, "cpu") + ", trees " +
         (v2_.empty() ? "by a supervisor" : "v2");
}

Result<SandboxCgroup> Cgroups::create(const std::string& name, const Limits& limits,
                                      std::int64_t owner) const {
  SandboxCgroup cgroup;
  if (!v2_.empty()) {
    const std::string memory = std::to_string(limits.memory_bytes_max);
    const std::string pids = std::to_string(limits.pids_max);
    const fs::path top = v2_ / name;
    const fs::path work = top / "work";
    if (mkdir(top.c_str(), 0755) != 0) return failed(top, "can't be made");
    cgroup.v2_ = top;
    const std::string controllers =
        std::string(v2_memory_ ? "+memory " : "") + (v2_pids_ ? "+pids " : "") + (v2_cpu_ ? "+cpu" : "");
    if (!controllers.empty() && !write_kernel_file(top / "cgroup.subtree_control", controllers))
      return failed(top, "can't give its controllers on");
    if (mkdir((top / "init").c_str(), 0755) != 0 || mkdir(work.c_str(), 0755) != 0)
      return failed(work, "can't be made");
    if (v2_memory_) {
      if (!write_kernel_file(work / "memory.max", memory)) return failed(work, "takes no memory limit");
      write_kernel_file(work / "memory.swap.max", "0");
      cgroup.give(kFdMemoryEvents, open_for(work / "memory.events", O_RDONLY));
    }
    if (v2_pids_) {
      if (!write_kernel_file(work / "pids.max", pids)) return failed(work, "takes no process limit");
      cgroup.give(kFdPidsEvents, open_for(work / "pids.events", O_RDONLY));
    }
    if (v2_cpu_) write_kernel_file(work / "cpu.max", cpu_quota_us(limits.cpus_max) + " 100000");
    for (const fs::path& path : {top / "cgroup.procs", work, work / "cgroup.procs"}) {
      if (owner >= 0 && chown(path.c_str(), static_cast<uid_t>(owner), static_cast<gid_t>(owner)) != 0)
        return failed(path, "can't be handed over");
    }
    cgroup.init_folder_ = open_for(top / "init", O_RDONLY | O_DIRECTORY);
    cgroup.give(kFdCgroupWork, open_for(work, O_PATH | O_DIRECTORY));
  }
  return cgroup;
}

Result<void> Cgroups::complete(SandboxCgroup& cgroup, const std::string& name, const Limits& limits) const {
  const std::string memory = std::to_string(limits.memory_bytes_max);
  const std::string pids = std::to_string(limits.pids_max);
  for (const auto& [controller, base] : v1_) {
    const fs::path path = base / name;
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return failed(path, "can't be made");
    if (std::find(cgroup.v1_.begin(), cgroup.v1_.end(), path) == cgroup.v1_.end()) {
      cgroup.v1_.push_back(path);
      cgroup.give(kFdCgroupProcs, open_for(path / "cgroup.procs", O_WRONLY));
    }
    if (controller == "memory") {
      if (!write_kernel_file(path / "memory.limit_in_bytes", memory))
        return failed(path, "takes no memory limit");
      write_kernel_file(path / "memory.memsw.limit_in_bytes", memory);
      core::UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      const core::UniqueFd control = open_for(path / "memory.oom_control", O_RDONLY);
      if (!write_kernel_file(path / "cgroup.event_control",
                             std::to_string(event.get()) + " " + std::to_string(control.get()))) {
        return failed(path, "can't tell of memory running out");
      }
      cgroup.give(kFdOomEvent, std::move(event));
      cgroup.give(kFdMemoryPeak, open_for(path / "memory.max_usage_in_bytes", O_RDWR));
    } else if (controller == "pids") {
      if (!write_kernel_file(path / "pids.max", pids)) return failed(path, "takes no process limit");
      cgroup.give(kFdPidsEvents, open_for(path / "pids.events", O_RDONLY));
    } else {
      write_kernel_file(path / "cpu.cfs_period_us", "100000");
      write_kernel_file(path / "cpu.cfs_quota_us", cpu_quota_us(limits.cpus_max));
    }
  }
  return {};
}

void Cgroups::sweep(const std::vector<std::string>& launcher_ids) const {
  std::vector<fs::path> parents;
  if (!v2_.empty()) parents.push_back(v2_.parent_path());
  for (const auto& [controller, path] : v1_) parents.push_back(path.parent_path());
  for (const fs::path& parent : parents) {
    for (const std::string& id : launcher_ids) {
      const fs::path path = parent / (kPrefix + id);
      if (!fs::exists(path)) continue;
      write_kernel_file(path / "cgroup.kill", "1");
      remove_cgroup(path);
    }
  }
}

}  // namespace forkpoint::sandbox
