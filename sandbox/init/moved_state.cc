#include "sandbox/init/moved_state.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <string>

#include "sandbox/init/process_tree.h"

namespace forkpoint::sandbox {
namespace {

bool goes_on(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

void move_paths(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    const std::size_t end = at + from.size();
    const bool whole = end == text.size() || !goes_on(text[end]);
    if (whole) text.replace(at, from.size(), to);
    at += whole ? to.size() : from.size();
  }
}

}  // namespace

void move_shell_state(ShellState& state, std::string_view from, std::string_view to) {
  if (from == to || from == "/") return;
  for (auto& [name, declaration] : state.variables) move_paths(declaration, from, to);
  move_paths(state.functions, from, to);
  move_paths(state.aliases, from, to);
  for (auto* texts : {&state.folders, &state.traps}) {
    for (std::string& text : *texts) move_paths(text, from, to);
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
    const std::string_view key = "\nThreads:\t";
    const std::size_t at = text.find(key);
    if (at != std::string::npos) threads += std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
  }
  closedir(folder);
  return threads;
}

}  // namespace forkpoint::sandbox
