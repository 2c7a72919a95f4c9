// SandboxPolicy: what one sandbox is made of and what it may use.
//
//   SandboxPolicy policy;
//   policy.workspace = "/home/me/repo";            // appears at /workspace; the original is never written to
//   policy.limits.memory_bytes_max = 1u << 30;
//   policy.network = Network::none;
//
// Plain values. check_policy() finds what can't be meant; what the machine can't give is found when the
// sandbox is created.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/result.h"
#include "sandbox/level.h"

namespace forkpoint::sandbox {

// Exceeding one ends the action, names the limit in its result, and leaves the sandbox usable.
// sandbox/README.md says how each is enforced at each level.
struct Limits {
  std::uint64_t memory_bytes_max = std::uint64_t{256} << 20;  // all processes together
  std::int64_t pids_max = 64;                                 // processes and threads at once
  double cpus_max = 1;                                        // processors' worth of time; slows, never ends
  std::uint64_t disk_bytes_max = std::uint64_t{1} << 30;      // what was written since the state began
  double wall_s_max = 10;                                     // per action
  double cpu_time_s_max = 60;                                 // per action, all its processes together
  std::int64_t open_files_max = 1024;                         // per process
  std::uint64_t file_size_bytes_max = std::uint64_t{1} << 30;
  std::uint64_t output_bytes_max = std::uint64_t{64} << 10;  // kept of an action's output, head and tail
  bool operator==(const Limits&) const = default;
};

// An action that writes this many times its output cap is ended; up to then the excess is read, counted and
// dropped.
inline constexpr std::uint64_t kFloodFactor = 64;

enum class Network {
  none,  // a namespace of its own that holds nothing but loopback
  host,  // the machine's own
};

enum class ShellMode {
  fresh,       // each action a new bash that restores and saves the state: can be forked
  persistent,  // one bash that lives on, for work with jobs: can't be snapshotted
};

struct SandboxPolicy {
  // "host" (the machine's /usr and /etc, secrets masked), a folder, "oci:FOLDER" or "archive:FILE".
  std::string image = "host";
  // A folder whose content appears at /workspace; empty for an empty one.
  std::string workspace;
  Limits limits;
  Network network = Network::none;
  ShellMode shell = ShellMode::fresh;
  Level level_min = Level::l2;  // what the backend must give at least
  std::string hostname = "sandbox";
  // Added to the fixed environment of every action; a value replaces that of the same name.
  std::map<std::string, std::string> environment = {};
  bool operator==(const SandboxPolicy&) const = default;
};

// Where the workspace is seen inside.
inline constexpr char kWorkspacePath[] = "/workspace";

// Error `bad_policy` for a name that no variable can have, or a value with a NUL byte.
Result<void> check_environment(const std::map<std::string, std::string>& environment);

// Errors (Boundary::sandbox, Fault::input): `bad_limit` for a limit that is zero, negative, not finite or
// beyond what any machine has; `bad_policy` for the rest.
Result<void> check_policy(const SandboxPolicy& policy);

}  // namespace forkpoint::sandbox
