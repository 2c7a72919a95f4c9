#include "tests/sandbox/traces.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace forkpoint::tests {
namespace {

namespace fs = std::filesystem;

std::string proc(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

std::size_t entries(const fs::path& folder) {
  std::error_code ignored;
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    (void)entry;
    ++count;
  }
  return count;
}

std::size_t lines(const std::string& path) {
  std::ifstream stream(path);
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line);) ++count;
  return count;
}

std::size_t children(pid_t pid) {
  std::ifstream stream(proc(pid, "task/") + std::to_string(pid) + "/children");
  std::size_t count = 0;
  for (pid_t child = 0; stream >> child;) count += 1 + children(child);
  return count;
}

}  // namespace

// Folders called `name` below the cgroup mounts, and what is in them.
std::size_t cgroups_of(const std::string& name) {
  std::size_t count = 0;
  std::error_code ignored;
  for (auto entry = fs::recursive_directory_iterator("/sys/fs/cgroup",
                                                     fs::directory_options::skip_permission_denied, ignored);
       entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
    if (ignored) break;
    if (entry->is_directory(ignored) && entry->path().string().find(name) != std::string::npos) ++count;
  }
  return count;
}

std::ostream& operator<<(std::ostream& stream, const Traces& traces) {
  return stream << "{processes " << traces.processes << ", launcher fds " << traces.launcher_fds
                << ", own fds " << traces.own_fds << ", mounts " << traces.mounts << ", cgroups "
                << traces.cgroups << ", live folders " << traces.live_folders << "}";
}

Traces traces_of(pid_t launcher) {
  std::error_code ignored;
  const fs::path state = fs::read_symlink(proc(launcher, "cwd"), ignored);
  Traces traces;
  traces.processes = children(launcher);
  traces.launcher_fds = entries(proc(launcher, "fd"));
  traces.own_fds = entries("/proc/self/fd");
  traces.mounts = lines(proc(launcher, "mountinfo"));
  traces.cgroups = cgroups_of("forkpoint-" + state.filename().string());
  traces.live_folders = entries(state / "live") + entries(state / "gone") + entries(state / "layers");
  return traces;
}

Traces wait_for_traces(pid_t launcher, const Traces& expected) {
  Traces traces;
  becomes_true([&] {
    traces = traces_of(launcher);
    return traces == expected;
  });
  return traces;
}

bool becomes_true(const std::function<bool()>& condition) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace forkpoint::tests
