// Suite: what sandboxes must do, as data: cases made of steps, each with what is expected of it.
//
//   name = "shell"
//   [[case]]
//   name = "a variable lasts"
//   [[case.step]]
//   run = "x=1"
//   [[case.step]]
//   run = "echo $x"
//   expect.output = "1\n"
//
// The format is described in docs/sandbox-suites.md; suite_runner.h plays it. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sandbox/policy.h"
#include "sandbox/sandbox.h"

namespace forkpoint::sandbox {

// What is expected of the bytes of one stream. Nothing set: anything will do.
struct OutputExpectation {
  std::optional<std::string> exact = {};
  std::vector<std::string> contains = {};
  std::vector<std::string> lacks = {};
  std::vector<std::string> matches = {};  // regular expressions, each found in some line
};

struct Expectation {
  std::string error;  // code of the error that refuses the step; empty: it must not be refused

  // How the action ended.
  std::optional<std::vector<int>> exit_codes;  // one of these; an empty list is any end at all
  std::optional<int> signal;
  std::optional<bool> timed_out;
  std::optional<bool> oom_killed;
  std::optional<std::optional<LimitKind>> limit;  // that no limit ended it can be expected too

  OutputExpectation output;
  OutputExpectation error_output;
  std::optional<bool> elided;  // whether something of the output was left out
  std::optional<std::string> cwd;
  std::optional<bool> state_saved;
  std::optional<std::size_t> background_count;
  std::vector<std::string> background;  // part of the command of a process each, of different ones

  // The files as they are after the step. Relative paths are below the workspace.
  std::map<std::string, std::string> files;  // content by path
  std::vector<std::string> absent;
  std::vector<std::string> unreadable;              // there or not: reading them from outside must be refused
  std::optional<std::vector<std::string>> changed;  // "added PATH", all of them; since the case began, or:
  std::string changed_since;                        // since this snapshot

  // Whether it says that the action may end otherwise than by an exit with 0, which is expected of all the
  // others.
  bool names_an_end() const;
};

// One call, or none: then the step only looks. In this order: `from` or `in`, the call, the expectations,
// `snapshot`.
struct Step {
  std::string from;      // goes on in a fresh fork of this snapshot
  std::string as;        // and gives the fork this name
  std::string in;        // goes on in the sandbox of this name; "main" is the case's first
  std::string snapshot;  // name of the snapshot that is taken after the step
  int repeat = 1;        // the whole step is done so many times; the snapshot of the last time stays

  std::optional<std::string> run;            // a shell command
  std::vector<std::string> exec;             // or a program with its arguments
  std::map<std::string, std::string> write;  // or files written from outside: content by path
  ExecOptions options;

  Expectation expect;

  bool acts() const { return run.has_value() || !exec.empty(); }
  std::string in_words() const;  // what the step does, one line, cut where it is long
};

struct Case {
  std::string name;
  std::vector<Level> requires_levels;          // one of them; empty: any
  std::vector<std::string> requires_features;  // all of them, of kSuiteFeatures
  std::vector<std::string> programs;           // must be found in the sandbox's PATH
  SandboxPolicy policy;                        // the suite's, with what the case says put over it
  std::vector<std::string> setup;              // commands, each of which must succeed
  std::vector<Step> steps;
};

struct Suite {
  std::string name;
  std::vector<Case> cases;
};

// What a case may require beside levels: that states can be forked, that limits hold for all processes of a
// sandbox together (without cgroups some hold for each process), and what namespaces give: a file tree where
// every path is its own, a table of processes, a network and shared memory likewise, and root's powers over
// them.
inline constexpr std::string_view kSuiteFeatures[] = {
    "fork", "cgroup", "own_tree", "own_root", "own_processes", "own_network", "shared_memory"};

inline constexpr char kMainSandbox[] = "main";

// `source` names the text in errors; folders in the policy are relative to the folder that it lies in. Errors
// (Boundary::config, Fault::input): those of core/toml.h; on load_suite() also those of reading a file.
Result<Suite> parse_suite(std::string_view text, const std::string& source);
Result<Suite> load_suite(const std::string& path);

}  // namespace forkpoint::sandbox
