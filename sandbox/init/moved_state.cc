#include "sandbox/init/moved_state.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "sandbox/init/process_tree.h"

namespace forkpoint::sandbox {
namespace {

// `text` from `at` on is the root `from`, or something below it.
void move_path(std::string& text, std::size_t at, std::string_view from, std::string_view to) {
  if (text.compare(at, from.size(), from) != 0) return;
  const std::size_t end = at + from.size();
  const bool whole = end == text.size() || text[end] == '/' || text[end] == '"' || text[end] == '\'';
  if (whole) text.replace(at, from.size(), to);
}

}  // namespace

void move_shell_state(ShellState& state, std::string_view from, std::string_view to) {
  if (from == to || from == "/") return;
  for (std::string& folder : state.folders) move_path(folder, 0, from, to);
  for (auto& [name, declaration] : state.variables) {
    const bool ours = name == "HOME" || name == "TMPDIR" || name == "PWD" || name == "OLDPWD";
    const std::size_t equals = declaration.find('=');
    // A quote stands before the value.
    if (ours && equals != std::string::npos && equals + 2 < declaration.size())
      move_path(declaration, equals + 2, from, to);
  }
}

std::uint64_t threads_of_user() {
  std::uint64_t threads = 0;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return 0;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    struct stat status {};
    if (pid <= 0 || fstatat(dirfd(folder), entry->d_name, &status, 0) != 0 || status.st_uid != getuid())
      continue;
    const std::string text = read_proc_file(pid, "status");
    constexpr std::string_view key = "\nThreads:\t";
    const std::size_t at = text.find(key);
    if (at != std::string::npos) threads += std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
  }
  closedir(folder);
  return threads;
}

}  // namespace forkpoint::sandbox
