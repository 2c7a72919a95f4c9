// Task: what an agent is asked to do, and how what it did is judged. Frozen data: made by a task source
// (env/task_source.h), read by the environment and by the reward; nothing in it changes in an episode.
//
// Plain values; copying one copies no files, except those that are held as bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"
#include "sandbox/policy.h"

namespace forkpoint::env {

struct TaskFile {
  std::string bytes;
  std::uint32_t mode = 0644;
  bool operator==(const TaskFile&) const = default;
};

// By path, relative to the workspace: "src/a.py"; never absolute, never with "..".
using TaskFiles = std::map<std::string, TaskFile>;

// A git repository of the machine; a fresh clone of the commit, without any history after it, is the
// workspace.
struct TaskRepository {
  std::string path;
  std::string base_commit;
  bool operator==(const TaskRepository&) const = default;
};

// What the workspace holds when an episode begins: a folder of the machine (empty: none), or a repository;
// then `files`, written over it.
struct TaskWorkspace {
  std::string folder;
  std::optional<TaskRepository> repository;
  TaskFiles files;
  bool operator==(const TaskWorkspace&) const = default;
};

// Judged by running tests in a fresh fork of the base state to which the episode's patch was applied.
struct TestGrader {
  std::string command;  // a shell command, run in the workspace
  // How its results are read: "pytest", "unittest", "ctest", "go", "cargo", "jest", "node", "tap",
  // "exit_code".
  std::string reader = "exit_code";
  // Files that the agent never sees; written before the command runs, over whatever is there.
  TaskFiles hidden_files;
  // Paths of the workspace (a folder stands for all below it) that are restored to the base state before the
  // command runs; what the agent changed there is reported.
  std::vector<std::string> protected_paths;
  // A patch in git's format that brings the tests, applied after protected paths are restored; "" for none.
  std::string test_patch;
  // Tests that must pass at the end: those that failed at the base, and those that passed. Both empty: the
  // command's exit code, and every test that the reader reports, decides.
  std::vector<std::string> fail_to_pass;
  std::vector<std::string> pass_to_pass;
  bool operator==(const TestGrader&) const = default;
};

// Judged by comparing the submitted answer with the right one (env/answer_checker.h); nothing is run.
struct AnswerGrader {
  std::string checker;  // "integer", "rational", "decimal", "boxed", "choice", "symbolic"
  std::string answer;
  double tolerance = 0;  // of "decimal": absolute
  bool operator==(const AnswerGrader&) const = default;
};

struct TaskLimits {
  int turns_max = 50;
  double wall_s_max = 1800;      // of the episode, setup and scoring apart
  double test_wall_s_max = 300;  // of the grader's command
  std::int64_t tokens_max = 0;   // of the episode, as its caller reports them; 0: no limit
  int format_errors_max = 3;     // in a row
  bool operator==(const TaskLimits&) const = default;
};

struct Task {
  std::string id;  // of [A-Za-z0-9._-] and "/"; unique within its source
  std::string problem_statement;
  std::string image = "host";
  TaskWorkspace workspace;
  std::vector<std::string> setup_commands;  // run in the workspace before the base state is taken
  std::map<std::string, std::string> environment;
  std::variant<TestGrader, AnswerGrader> grader;
  // What solves it: a patch in git's format, or for an AnswerGrader the text of an answer. Never shown to an
  // agent; absent where nobody knows one.
  std::optional<std::string> reference;
  TaskLimits limits;
  sandbox::Limits sandbox_limits;
  sandbox::Network network = sandbox::Network::none;
  bool score_at_turn_limit = false;  // else reaching turns_max is worth 0
  // For groups in reports ("bugs", "family"), and where it comes from ("repo", "license").
  Json metadata = Json::object();
};

}  // namespace forkpoint::env
