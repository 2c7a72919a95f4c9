// How an action and its result travel between client and init. Plain values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/exec_result.h"
#include "sandbox/policy.h"

namespace forkpoint::sandbox {

class Reader;
class Writer;

// One action with every limit decided.
struct ActionRequest {
  bool shell = true;
  std::string command;                 // of the shell
  std::vector<std::string> arguments;  // without a shell
  std::string stdin_bytes;
  std::map<std::string, std::string> environment;
  std::string cwd;
  double wall_s_max = 0;
  double cpu_time_s_max = 0;
  std::uint64_t output_bytes_max = 0;
  bool separate_output = false;
};

std::string encode(const ActionRequest& request);
std::optional<ActionRequest> decode_action_request(std::string_view body);

std::string encode(const ExecResult& result);
std::optional<ExecResult> decode_exec_result(std::string_view body);

std::string encode(const std::vector<BackgroundProcess>& processes);
std::vector<BackgroundProcess> decode_processes(Reader& reader);

// What a new init is told. The descriptors that come with it are named by `fds`, in order.
struct InitStart {
  Limits limits;
  ShellMode shell = ShellMode::fresh;
  std::map<std::string, std::string> environment;
  std::string workspace;          // where the first action begins
  std::string root = "/";         // what paths of files start from
  std::string root_before = "/";  // the same of the sandbox that `shell_state` comes from
  bool shared_user = false;       // its user has other processes too
  std::string shm_folder;         // must be empty at a snapshot; empty where there is no IPC namespace
  std::string channel_folder;     // private to the sandbox; holds the shell's pipe and script
  std::string shell_state;        // encoded; empty at the beginning
  std::string token;
  std::uint64_t disk_bytes_before = 0;  // what earlier layers of this state hold
  std::vector<std::string> fds;         // the names below
};

std::string encode(const InitStart& start);
std::optional<InitStart> decode_init_start(std::string_view body);

void encode_limits(Writer& body, const Limits& limits);
Limits decode_limits(Reader& reader);
void encode_map(Writer& body, const std::map<std::string, std::string>& map);
std::map<std::string, std::string> decode_map(Reader& reader);

// The names in InitStart::fds.
inline constexpr char kFdCgroupWork[] = "cgroup-work";    // v2 folder that init makes a cgroup per action in
inline constexpr char kFdCgroupProcs[] = "cgroup-procs";  // of a v1 controller, to be joined by each action
inline constexpr char kFdOomEvent[] = "oom-event";        // v1: an eventfd that counts
inline constexpr char kFdMemoryEvents[] = "memory-events";  // v2: memory.events of the limited cgroup
inline constexpr char kFdMemoryPeak[] = "memory-peak";      // v1: memory.max_usage_in_bytes
inline constexpr char kFdPidsEvents[] = "pids-events";

}  // namespace forkpoint::sandbox
