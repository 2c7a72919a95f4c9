// ExecResult: what one action came to.
//
// Plain value. An action that failed, was killed or hit a limit is a result; an Error says that the sandbox
// itself could not do its work, and is never the agent's fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace forkpoint::sandbox {

enum class LimitKind { wall, cpu_time, memory, pids, output, disk, open_files, file_size };
std::string_view to_string(LimitKind limit);  // as in the command-line contract: "cpu_time"
std::optional<LimitKind> limit_from_string(std::string_view name);

// Bytes of one stream. Where more came than the cap, the first and the last half-cap are kept.
struct CapturedOutput {
  std::string head;
  std::string tail;               // empty unless something was left out
  std::uint64_t bytes_total = 0;  // all that came, kept or not

  bool truncated() const { return head.size() + tail.size() < bytes_total; }
  std::uint64_t bytes_left_out() const { return bytes_total - head.size() - tail.size(); }
  // All that was kept, with "[... N bytes left out ...]" on a line of its own where something was left out.
  std::string text() const;
};

struct BackgroundProcess {
  std::int64_t pid = 0;  // as seen inside
  std::string command;
};

struct ExecResult {
  std::optional<int> exit_code;  // absent when a signal ended it
  std::optional<int> signal;
  bool timed_out = false;
  bool oom_killed = false;
  std::optional<LimitKind> limit;  // the limit that ended it

  CapturedOutput output;  // both streams in order; standard output alone where they were asked for separately
  std::optional<CapturedOutput> error_output;

  double wall_ms = 0;
  double cpu_ms = 0;                    // user and system, all processes of the action
  std::uint64_t memory_peak_bytes = 0;  // of the action's processes; at L1 and L2 of the largest of them
  std::string cwd;                      // where the next action begins
  bool state_saved = true;              // false: the shell could not save; the last good state stays
  std::vector<BackgroundProcess> background;  // what still runs, of this and earlier actions

  // 0..255 as a shell would give it: 128 + signal, 124 for a time-out.
  int shell_status() const;
};

// The object of the command-line contract.
Json to_json(const ExecResult& result);

}  // namespace forkpoint::sandbox
