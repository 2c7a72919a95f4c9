// ProcessTree: all processes of one action, however they fork, daemonize or change session.
//
// Two ways, by what the launcher could give: a cgroup per action (CgroupTree), or a supervisor per action
// that is the reaper of its orphans (ReaperTree). Single-threaded; a tree does not end its processes when it
// is destroyed.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/exec_result.h"
#include "sandbox/init/spawn.h"

namespace forkpoint::sandbox {

// How the action's own process ended.
struct Ending {
  int status = 0;  // as of waitpid
  rusage usage = {};
};

struct TreeUsage {
  double cpu_ms = 0;
  std::uint64_t memory_bytes = 0;  // resident, summed; 0 where a cgroup counts it
  std::size_t processes = 0;       // 0 where a cgroup counts them
  std::vector<pid_t> pids = {};    // those that live, as of members()
};

class ProcessTree {
 public:
  virtual ~ProcessTree() = default;
  // Starts the action's own process.
  virtual Result<pid_t> start(SpawnPlan plan) = 0;
  // A descriptor that becomes readable when the own process has ended; -1: it is a child, and SIGCHLD tells.
  virtual int ending_fd() const = 0;
  // What ending_fd() has to say, once.
  virtual std::optional<Ending> read_ending() = 0;
  // Ends every process of the tree, and returns when none is left.
  virtual void kill_all() = 0;
  virtual TreeUsage usage() = 0;
  // The pids that live, as seen here.
  virtual std::vector<pid_t> members() = 0;
  // Nothing lives any more; what the tree used of the system is given back.
  virtual bool finished() = 0;
};

// `work`: a cgroup v2 folder that we may write to; `name` of the action's own below it. `procs`: joined
// besides.
std::unique_ptr<ProcessTree> make_cgroup_tree(int work, const std::string& name, std::vector<int> procs);
std::unique_ptr<ProcessTree> make_reaper_tree();

// A process as /proc shows it.
struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  double cpu_ms = 0;
  std::uint64_t memory_bytes = 0;

  // A zombie, or on its way to be one.
  bool is_dead() const { return state == 'Z' || state == 'X'; }
};
std::vector<ProcessInfo> list_processes();
// `root` is not among them.
std::vector<ProcessInfo> descendants(const std::vector<ProcessInfo>& all, const std::set<pid_t>& roots);
// The command line, words parted by spaces, or the name in brackets.
std::string command_of(pid_t pid);

// Neither gone nor a zombie.
bool is_living(pid_t pid);

// Stops all that `members` tells of, until it tells of nobody new: what is stopped can't fork while we look
// for the rest. Returns whom it has stopped.
std::set<pid_t> stop_all(const std::function<std::vector<pid_t>()>& members);

// Threads of all the user's processes, which one limit counts together: RLIMIT_NPROC.
std::uint64_t threads_of_user();

// In a process that is to hold none of its maker's descriptors but one.
void close_all_but(int keep);

// A whole small file of a cgroup, or "/proc/PID/name"; empty where it can't be read.
std::string read_small_file(int folder, const char* path);
std::string read_proc_file(pid_t pid, const char* name);
// The number behind `key` in a file of "key number" lines; 0 where there is none.
std::uint64_t number_after(const std::string& text, const std::string& key);

}  // namespace forkpoint::sandbox
