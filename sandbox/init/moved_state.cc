#include "sandbox/init/moved_state.h"

#include <cctype>
#include <string>

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

}  // namespace forkpoint::sandbox
