// ShellState: what lasts of a shell from one action to the next: working directory, variables, functions,
// aliases, options, umask, directory stack, traps, resource limits.
//
// An action's bash is told by BASH_ENV to run a script that restores the state and leaves an EXIT trap, which
// dumps the state again, whatever way the command ends. So the command itself is bash's plain -c text: line
// numbers, error messages and traces are what they would be without us. The dump goes to a named pipe that
// init drains; nothing is inherited.
//
// A user's own `trap ... EXIT` is state: a function `trap` keeps it aside, it does not fire after each
// action. What gets around us (`builtin trap ... EXIT`, `exec`, `set -n`, kill -9) leaves the last good state
// in place. Known limits: a function named `builtin` is not kept; `exit` inside a function saves that
// function's local variables as they are; a RETURN trap fires once when it is set; under `set -v` bash prints
// our EXIT trap too, so that option is not kept.
//
// Pure functions on text; no system calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::sandbox {

// How the restoring script reaches init, and how its dump is told from anything else that lands in the pipe.
struct ShellChannel {
  std::string pipe_path;
  std::string token;  // random, letters and digits

  // Where the pipe lies, and whatever else the two exchange.
  std::string folder() const { return pipe_path.substr(0, pipe_path.rfind('/')); }
};

// As getrlimit has it; kNoLimit for none.
struct ResourceLimit {
  int resource = 0;
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};
inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// The parts of a dump, as bash printed them.
struct ShellState {
  struct Variable {
    std::string name;
    std::string declaration;  // "declare -x NAME=\"value\""
  };
  std::vector<Variable> variables;               // bash's own read-only ones are left out
  std::string functions;                         // definitions, one after the other
  std::vector<std::string> function_attributes;  // "declare -fx name"
  std::string aliases;
  std::string umask;                  // "0022"
  std::vector<std::string> folders;   // the directory stack, current first
  std::vector<std::string> traps;     // "trap -- 'text' SIGINT"
  std::string options;                // SHELLOPTS and BASHOPTS, joined by colons
  std::vector<ResourceLimit> limits;  // `ulimit`
  int status = 0;                     // of the last command; not state

  std::string cwd() const { return folders.empty() ? std::string() : folders.front(); }
  std::optional<std::string> declaration_of(std::string_view name) const;
};

// The state with which a sandbox begins.
ShellState initial_shell_state(const std::map<std::string, std::string>& environment, std::string cwd);

// What a persistent shell is given for -c: it waits for lines in the pipe "go" and evaluates them. Its first
// step is restoring_script(), by BASH_ENV.
std::string persistent_driver(const ShellChannel& channel);
// The script of one action of a persistent shell: the command between the pipes "in", "out" and "err", then a
// dump.
std::string persistent_step(std::string_view command, bool separate_output, const ShellChannel& channel);

// A persistent shell has said, after its dump, that the step is over.
bool is_answered(std::string_view dump, const ShellChannel& channel);

// Takes apart what came through the pipe; nothing where the dump is not whole.
std::optional<ShellState> parse_shell_dump(std::string_view dump, const ShellChannel& channel);

// The script for BASH_ENV. `cwd`: where to begin, else where the state ended. `extra_environment` holds for
// this action.
std::string restoring_script(const ShellState& state, const ShellChannel& channel,
                             const std::map<std::string, std::string>& extra_environment);

// What has to lie in the channel's file "trap": the code of the function that stands in for bash's `trap`.
std::string trap_script();

// Undoes in a new state what `extra_environment` had put there, unless the action changed it.
void forget_extra_environment(ShellState& state, const ShellState& before,
                              const std::map<std::string, std::string>& extra_environment);

// `text` as one word of a shell: in single quotes.
std::string shell_quote(std::string_view text);

// A state as bytes and back, for snapshots. Decoding returns nothing for anything but an encoded state.
std::string encode_shell_state(const ShellState& state);
std::optional<ShellState> decode_shell_state(std::string_view bytes);

}  // namespace forkpoint::sandbox
