#include "sandbox/init/shell_state.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>

#include <sys/resource.h>

#include "sandbox/wire.h"

namespace forkpoint::sandbox {
namespace {

using std::string;
using std::string_view;

// What bash sets anew in every shell, or what we put there.
bool is_bash_own(string_view name) {
  static const std::set<string_view> names = {
      "BASH",
      "BASHOPTS",
      "BASHPID",
      "BASH_ALIASES",
      "BASH_ARGC",
      "BASH_ARGV",
      "BASH_ARGV0",
      "BASH_CMDS",
      "BASH_COMMAND",
      "BASH_EXECUTION_STRING",
      "BASH_LINENO",
      "BASH_SOURCE",
      "BASH_SUBSHELL",
      "BASH_VERSINFO",
      "BASH_VERSION",
      "COMP_WORDBREAKS",
      "DIRSTACK",
      "EPOCHREALTIME",
      "EPOCHSECONDS",
      "EUID",
      "FORKPOINT_LIMITS",
      "FORKPOINT_OPTIONS",
      "FORKPOINT_STATUS",
      "FORKPOINT_STDERR",
      "FUNCNAME",
      "GROUPS",
      "HISTCMD",
      "HOSTTYPE",
      "LINENO",
      "MACHTYPE",
      "OSTYPE",
      "PIPESTATUS",
      "PPID",
      "PWD",
      "RANDOM",
      "SECONDS",
      "SHELLOPTS",
      "SRANDOM",
      "UID",
      "_",
      "BASH_MONOSECONDS",
      "BASH_TRAPSIG",
  };
  return names.contains(name);
}

// The end of the logical line that begins at `start`: the first newline that no quote holds. Knows the quotes
// that bash prints: "..." and '...' and $'...', with backslashes in the first and the last.
std::size_t end_of_statement(string_view text, std::size_t start) {
  char quote = '\0';
  bool escapes = true;
  for (std::size_t i = start; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0') {
      if (c == '\n') return i;
      if (c == '\\') {
        ++i;
      } else if (c == '"' || c == '\'') {
        quote = c;
        escapes = c == '"' || (i > start && text[i - 1] == '$');
      }
    } else if (c == '\\' && escapes) {
      ++i;
    } else if (c == quote) {
      quote = '\0';
    }
  }
  return text.size();
}

// The statements that begin with `prefix`; other lines are skipped.
std::vector<string> statements(string_view text, string_view prefix) {
  std::vector<string> found;
  std::size_t start = 0;
  while (start < text.size()) {
    if (text.substr(start, prefix.size()) == prefix) {
      const std::size_t end = end_of_statement(text, start);
      found.emplace_back(text.substr(start, end - start));
      start = end + 1;
    } else {
      const std::size_t end = text.find('\n', start);
      if (end == string_view::npos) break;
      start = end + 1;
    }
  }
  return found;
}

std::vector<string> lines(string_view text) {
  std::vector<string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) found.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

// Lines of /proc/PID/limits: a name of two or more words, soft, hard, unit. The time limit is each action's
// own.
std::vector<ResourceLimit> parse_limits(string_view text) {
  static const std::map<string_view, int> resources = {
      {"Max file size", RLIMIT_FSIZE},       {"Max data size", RLIMIT_DATA},
      {"Max stack size", RLIMIT_STACK},      {"Max core file size", RLIMIT_CORE},
      {"Max processes", RLIMIT_NPROC},       {"Max open files", RLIMIT_NOFILE},
      {"Max locked memory", RLIMIT_MEMLOCK}, {"Max address space", RLIMIT_AS}};
  std::vector<ResourceLimit> limits;
  for (const string& line : lines(text)) {
    for (const auto& [name, resource] : resources) {
      if (!line.starts_with(string(name) + " ")) continue;
      std::istringstream rest(line.substr(name.size()));
      string soft;
      string hard;
      rest >> soft >> hard;
      const auto number = [](const string& word) {
        return word == "unlimited" ? kNoLimit : std::strtoull(word.c_str(), nullptr, 10);
      };
      limits.push_back({resource, number(soft), number(hard)});
    }
  }
  return limits;
}

// The name in "declare -ax NAME=..." or "declare -x NAME".
string declared_name(string_view declaration) {
  const std::size_t flags = declaration.find(' ');
  const std::size_t name = flags == string_view::npos ? flags : declaration.find(' ', flags + 1);
  if (name == string_view::npos) return "";
  const string_view rest = declaration.substr(name + 1);
  return string(rest.substr(0, rest.find('=')));
}

// "name ()" at the head of a definition to its closing brace at the beginning of a line.
string without_our_trap_function(string functions) {
  static constexpr string_view kHead = "trap () \n{ \n";
  std::size_t start = functions.starts_with(kHead) ? 0 : functions.find("\n" + string(kHead));
  if (start == string::npos) return functions;
  if (functions[start] == '\n') ++start;
  const std::size_t end = functions.find("\n}\n", start);
  if (end == string::npos) return functions;
  if (functions.substr(start, end - start).find("FORKPOINT_TRAP_CODE") == string::npos) return functions;
  functions.erase(start, end + 3 - start);
  return functions;
}

constexpr std::array<string_view, 9> kSections = {"variables", "functions", "attributes", "aliases", "umask",
                                                  "folders",   "traps",     "limits",     "end"};

string marker(const ShellChannel& channel, string_view section) {
  return "\n" + channel.token + " " + string(section) + "\n";
}

// Dumps the state. `builtin` in front of everything keeps user functions out; a function named `builtin` is
// removed in POSIX mode, where `unset` can't be a function, and an assignment, which nothing can shadow,
// turns that on.
string saving_trap(const ShellChannel& channel) {
  const string token = channel.token;
  string text =
      "{ FORKPOINT_STATUS=$? FORKPOINT_OPTIONS=$SHELLOPTS:$BASHOPTS POSIXLY_CORRECT=y\n"
      "\\unset -f builtin; \\unset POSIXLY_CORRECT\n"
      "\\builtin trap - DEBUG ERR RETURN; \\builtin set +efux; \\builtin shopt -u extdebug\n";
  const auto section = [&](string_view name, string_view commands) {
    text += "\\builtin printf '\\n" + token + " " + string(name) + "\\n'\n" + string(commands) + "\n";
  };
  section("variables", "\\builtin declare -p");
  section("functions", "\\builtin declare -f");
  section("attributes", "\\builtin declare -F");
  section("aliases", "\\builtin alias -p");
  section("umask", "\\builtin umask");
  section("folders", "\\builtin dirs -l -p");
  section("traps", "\\builtin trap -p");
  // Not `ulimit`: the kernel's own table needs no parsing of options, and mapfile no fork.
  section("limits",
          "\\builtin mapfile -t FORKPOINT_LIMITS </proc/$BASHPID/limits\n"
          "\\builtin printf '%s\\n' \"${FORKPOINT_LIMITS[@]}\"");
  section("end", "");
  return text + "} >" + shell_quote(channel.pipe_path) + " 2>/dev/null";
}

// Stands in for the builtin. EXIT is ours: the user's is remembered and printed, no more. What else the
// builtin keeps per function (DEBUG, ERR, RETURN) it would forget to unset from inside one, so an empty
// comment takes its place.
constexpr string_view kTrapCode = R"(case "${1-}" in
-l) builtin trap -l; builtin return ;;
''|-p)
  { [ $# -gt 0 ] && [ -z "$1" ]; } || {
    [ $# -eq 0 ] || builtin shift
    for name in "${@:-EXIT}"; do
      name=${name#SIG}
      case "${name^^}" in
      EXIT|0) name=EXIT ;;
      DEBUG|ERR|RETURN) name=${name^^} ;;
      *) builtin trap -p "$name"; continue ;;
      esac
      signal=FORKPOINT_TRAP_$name
      [ -z "${!signal+set}" ] || builtin printf "trap -- '%s' %s\n" "${!signal//\'/\'\\\'\'}" "$name"
    done
    if [ $# -eq 0 ]; then
      builtin trap -p HUP INT QUIT TERM USR1 USR2 PIPE ALRM CHLD WINCH CONT TSTP TTIN TTOU
      for name in DEBUG ERR RETURN; do
        signal=FORKPOINT_TRAP_$name
        [ -z "${!signal+set}" ] || builtin printf "trap -- '%s' %s\n" "${!signal//\'/\'\\\'\'}" "$name"
      done
    fi
    builtin return 0
  } ;;
--) builtin shift ;;
esac
if [ $# -eq 1 ]; then action=-; else action=$1; builtin shift; fi
if [ "$BASH_SUBSHELL" -gt 0 ]; then builtin trap -- "$action" "$@"; builtin return; fi
for signal in "$@"; do
  name=${signal#[Ss][Ii][Gg]}; name=${name^^}
  case "$name" in
  EXIT|0) if [ "$action" = - ]; then builtin unset -v FORKPOINT_TRAP_EXIT; else builtin declare -g "FORKPOINT_TRAP_EXIT=$action"; fi ;;
  DEBUG|ERR|RETURN)
    if [ "$action" = - ]; then builtin unset -v "FORKPOINT_TRAP_$name"; builtin trap -- '#' "$name"
    else builtin declare -g "FORKPOINT_TRAP_$name=$action"; builtin trap -- "$action" "$name"; fi ;;
  *) builtin trap -- "$action" "$signal" || builtin return ;;
  esac
done
)";

// The function only fetches that: hardly any action calls it, and parsing all of it would cost each one. By
// `eval`, since the end of a sourced file would fire a RETURN trap.
string trap_function(const ShellChannel& channel) {
  return "trap () {\n"
         "{ builtin local -; builtin set +efux; builtin local FORKPOINT_TRAP_CODE action signal name; } "
         "2>/dev/null\n"
         "builtin read -r -d '' FORKPOINT_TRAP_CODE <" +
         shell_quote(channel.folder() + "/trap") + "\nbuiltin eval \"$FORKPOINT_TRAP_CODE\"\n}\n";
}

bool has_option(const ShellState& state, string_view name) {
  return (":" + state.options + ":").find(":" + string(name) + ":") != string::npos;
}

// `shopt` and `set` that make a fresh shell's options those of the state; errexit, nounset and xtrace come
// last.
string restoring_options(const ShellState& state) {
  static constexpr std::array<string_view, 16> kSetNames = {
      "allexport", "braceexpand", "errtrace", "functrace", "hashall",  "histexpand", "keyword", "monitor",
      "noclobber", "noglob",      "notify",   "onecmd",    "physical", "pipefail",   "posix",   "privileged"};
  if (state.options.empty()) return "";
  string text = "builtin shopt -u extglob\n";
  std::set<string> on;
  string_view rest = state.options;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    on.emplace(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  string shopts;
  static const std::set<string_view> set_only = {
      "errexit", "nounset", "xtrace",  "noexec",    "vi",
      "emacs",   "history", "verbose", "ignoreeof", "interactive-comments",
      "nolog"};
  static const std::set<string_view> read_only = {"login_shell", "restricted_shell"};
  for (const string& name : on) {
    const bool of_set =
        std::find(kSetNames.begin(), kSetNames.end(), name) != kSetNames.end() || set_only.contains(name);
    if (!of_set && !read_only.contains(name) && name != "expand_aliases") shopts += " " + name;
  }
  if (!shopts.empty()) text += "builtin shopt -s" + shopts + " 2>/dev/null\n";
  // On in a fresh shell; off only where the user said so.
  static constexpr std::array<string_view, 8> kDefaultOn = {
      "checkwinsize",  "cmdhist",         "complete_fullquote", "extquote",
      "force_fignore", "globasciiranges", "globskipdots",       "patsub_replacement"};
  for (const string_view name : kDefaultOn) {
    if (!on.contains(string(name))) text += "builtin shopt -u " + string(name) + " 2>/dev/null\n";
  }
  for (const string_view name : kSetNames) {
    const bool fresh = name == "braceexpand" || name == "hashall";
    const bool wanted = on.contains(string(name));
    if (wanted != fresh) text += "builtin set " + string(wanted ? "-o " : "+o ") + string(name) + "\n";
  }
  return text;
}

string restoring_folders(const ShellState& state) {
  if (state.folders.empty()) return "";
  // Where the folder is gone, its nearest ancestor, and a word about it: commands would run in the wrong
  // place.
  const string cwd = shell_quote(state.cwd());
  string text = "builtin cd -- " + cwd + " 2>/dev/null || {\nFORKPOINT_FOLDER=" + cwd +
                "\nwhile FORKPOINT_FOLDER=${FORKPOINT_FOLDER%/*}; ! builtin cd -- \"${FORKPOINT_FOLDER:-/}\" "
                "2>/dev/null; do :; done\n"
                "builtin printf 'bash: %s no longer exists, this is %s\\n' " +
                cwd + " \"$PWD\" >&2\nbuiltin unset -v FORKPOINT_FOLDER\n}\n";
  for (auto folder = state.folders.rbegin(); folder + 1 < state.folders.rend(); ++folder) {
    text += "builtin pushd -n -- " + shell_quote(*folder) + " >/dev/null 2>&1\n";
  }
  const auto old = state.declaration_of("OLDPWD");
  return text + "builtin " + (old ? *old : "unset OLDPWD") + "\n";
}

string restoring_traps(const ShellState& state, const ShellChannel& channel) {
  string text;
  for (const string& trap : state.traps) text += "builtin " + trap + "\n";
  text += "builtin trap -- " + shell_quote(saving_trap(channel)) + " EXIT\n";
  // Whatever is set from here on must not fire for, or be seen by, what follows: one group, silenced.
  string last = "{ :\n";
  for (const string_view name : {"errexit", "nounset", "xtrace"}) {
    if (has_option(state, name)) last += "builtin set -o " + string(name) + "\n";
  }
  for (const string_view name : {"RETURN", "ERR", "DEBUG"}) {
    const string variable = "FORKPOINT_TRAP_" + string(name);
    if (state.declaration_of(variable))
      last += "builtin trap -- \"$" + variable + "\" " + string(name) + "\n";
  }
  if (has_option(state, "expand_aliases")) last += "builtin shopt -s expand_aliases\n";
  return text + last + "} >/dev/null 2>&1\n";
}

}  // namespace

std::optional<string> ShellState::declaration_of(string_view name) const {
  for (const Variable& variable : variables) {
    if (variable.name == name) return variable.declaration;
  }
  return std::nullopt;
}

string shell_quote(string_view text) {
  string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

ShellState initial_shell_state(const std::map<string, string>& environment, string cwd) {
  ShellState state;
  for (const auto& [name, value] : environment) {
    state.variables.push_back({name, "declare -x " + name + "=" + shell_quote(value)});
  }
  state.variables.push_back({"SHLVL", "declare -x SHLVL=1"});
  state.umask = "0022";
  state.folders = {std::move(cwd)};
  return state;
}

string persistent_driver(const ShellChannel& channel) {
  const string folder = channel.folder();
  return "while \\builtin read -r FORKPOINT_STEP <" + shell_quote(folder + "/go") +
         "; do \\builtin eval \"$FORKPOINT_STEP\"; done";
}

string persistent_step(string_view command, bool separate_output, const ShellChannel& channel) {
  const auto file = [&channel](const char* name) { return shell_quote(channel.folder() + "/" + name); };
  // The dump is made by a subshell, so that the shell itself stays as the command left it.
  return "{ \\builtin eval " + shell_quote(command) + "\n} <" + file("in") + " >" + file("out") + " 2>" +
         (separate_output ? file("err") : "&1") + "\n( " + saving_trap(channel) +
         " )\n\\builtin printf '\\n%s answered\\n' " + channel.token + " >" + shell_quote(channel.pipe_path) +
         "\n";
}

bool is_answered(string_view dump, const ShellChannel& channel) {
  return dump.find(marker(channel, "answered")) != string_view::npos;
}

std::optional<ShellState> parse_shell_dump(string_view dump, const ShellChannel& channel) {
  std::map<string_view, string_view> parts;
  std::size_t at = dump.find(marker(channel, kSections.front()));
  for (std::size_t i = 0; i + 1 < kSections.size(); ++i) {
    if (at == string_view::npos) return std::nullopt;
    const std::size_t begin = at + marker(channel, kSections[i]).size();
    // The marker's newline may be the last one of the section before it.
    const std::size_t next = dump.find(marker(channel, kSections[i + 1]), begin - 1);
    if (next == string_view::npos) return std::nullopt;
    parts[kSections[i]] = next < begin ? string_view() : dump.substr(begin, next - begin + 1);
    at = next;
  }
  ShellState state;
  for (string& declaration : statements(parts["variables"], "declare -")) {
    string name = declared_name(declaration);
    if (name == "FORKPOINT_OPTIONS") {
      const std::size_t quote = declaration.find('"');
      state.options =
          quote == string::npos ? "" : declaration.substr(quote + 1, declaration.size() - quote - 2);
    }
    if (name == "FORKPOINT_STATUS") {
      const std::size_t quote = declaration.find('"');
      state.status = quote == string::npos ? 0 : std::atoi(declaration.c_str() + quote + 1);
    }
    if (!name.empty() && !is_bash_own(name)) {
      state.variables.push_back({std::move(name), std::move(declaration)});
    }
  }
  state.functions = without_our_trap_function(string(parts["functions"]));
  for (string& line : lines(parts["attributes"])) {
    if (line.starts_with("declare -f") && !line.starts_with("declare -f ")) {
      state.function_attributes.push_back(std::move(line));
    }
  }
  for (const string& alias : statements(parts["aliases"], "alias ")) state.aliases += alias + "\n";
  const std::vector<string> umask = lines(parts["umask"]);
  state.umask = umask.empty() ? "0022" : umask.front();
  state.folders = lines(parts["folders"]);
  for (string& trap : statements(parts["traps"], "trap -- ")) {
    const string_view signal = string_view(trap).substr(trap.rfind(' ') + 1);
    const bool kept_otherwise =
        signal == "EXIT" || signal == "DEBUG" || signal == "ERR" || signal == "RETURN";
    if (!kept_otherwise) state.traps.push_back(std::move(trap));
  }
  state.limits = parse_limits(parts["limits"]);
  if (state.folders.empty()) return std::nullopt;
  return state;
}

string trap_script() { return string(kTrapCode); }

string restoring_script(const ShellState& state, const ShellChannel& channel,
                        const std::map<string, string>& extra_environment) {
  // A fresh shell's own PATH and the like must not outlive the user's `unset`. What a variable's value makes
  // bash say (a locale that is not there) was said when the user set it.
  string text =
      "builtin unset -v BASH_ENV HOME SHELL PATH OLDPWD SHLVL\nbuiltin shopt -s extglob\n"
      "exec {FORKPOINT_STDERR}>&2 2>/dev/null\n";
  // Without `builtin` in front, which would keep bash from reading arrays; no function is there yet.
  for (const auto& variable : state.variables) text += variable.declaration + "\n";
  text += "exec 2>&\"$FORKPOINT_STDERR\" {FORKPOINT_STDERR}>&-\nunset -v FORKPOINT_STDERR\n";
  for (const auto& [name, value] : extra_environment) {
    text += "builtin export " + name + "=" + shell_quote(value) + "\n";
  }
  text += state.functions;
  for (const string& attributes : state.function_attributes) text += "builtin " + attributes + "\n";
  for (const string& alias : statements(state.aliases, "alias ")) text += "builtin " + alias + "\n";
  text += "builtin umask " + state.umask + "\n";
  text += restoring_folders(state);
  const bool own_trap =
      state.functions.starts_with("trap () ") || state.functions.find("\ntrap () ") != string::npos;
  if (!own_trap) text += trap_function(channel);
  text += restoring_options(state);
  return text + restoring_traps(state, channel);
}

void forget_extra_environment(ShellState& state, const ShellState& before,
                              const std::map<string, string>& extra_environment) {
  for (const auto& [name, value] : extra_environment) {
    const auto found = std::find_if(state.variables.begin(), state.variables.end(),
                                    [&name = name](const auto& variable) { return variable.name == name; });
    if (found == state.variables.end()) continue;
    if (const auto old = before.declaration_of(name)) {
      found->declaration = *old;
    } else {
      state.variables.erase(found);
    }
  }
}

string encode_shell_state(const ShellState& state) {
  Writer body;
  const auto texts = [&body](const std::vector<string>& values) {
    body.u32(static_cast<std::uint32_t>(values.size()));
    for (const string& value : values) body.text(value);
  };
  body.u32(static_cast<std::uint32_t>(state.variables.size()));
  for (const auto& variable : state.variables) body.text(variable.name).text(variable.declaration);
  body.text(state.functions);
  texts(state.function_attributes);
  body.text(state.aliases).text(state.umask);
  texts(state.folders);
  texts(state.traps);
  body.text(state.options).u32(static_cast<std::uint32_t>(state.limits.size()));
  for (const ResourceLimit& limit : state.limits) body.i64(limit.resource).u64(limit.soft).u64(limit.hard);
  return body.take();
}

std::optional<ShellState> decode_shell_state(string_view bytes) {
  Reader reader(bytes);
  ShellState state;
  const auto texts = [&reader] {
    std::vector<string> values(reader.count(sizeof(std::uint32_t)));
    for (string& value : values) value = reader.text();
    return values;
  };
  state.variables.resize(reader.count(2 * sizeof(std::uint32_t)));
  for (auto& variable : state.variables) {
    variable.name = reader.text();
    variable.declaration = reader.text();
  }
  state.functions = reader.text();
  state.function_attributes = texts();
  state.aliases = reader.text();
  state.umask = reader.text();
  state.folders = texts();
  state.traps = texts();
  state.options = reader.text();
  state.limits.resize(reader.count(3 * sizeof(std::uint64_t)));
  for (ResourceLimit& limit : state.limits) {
    limit.resource = static_cast<int>(reader.i64());
    limit.soft = reader.u64();
    limit.hard = reader.u64();
  }
  if (!reader.complete()) return std::nullopt;
  return state;
}

}  // namespace forkpoint::sandbox
