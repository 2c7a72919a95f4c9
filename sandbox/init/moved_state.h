// A shell's state in another place: what level L1 does, where each fork has folders at paths of its own.
//
// Pure function on text.
#pragma once

#include <string_view>

#include "sandbox/init/shell_state.h"

namespace forkpoint::sandbox {

// Puts the root `to` in the place of `from` wherever the state speaks of it: the working folder, the
// directory stack, HOME and TMPDIR, and what the user has made of them: a PATH, a function, a trap. A root's
// name is as good as random, so nothing else can be meant; it holds no character that bash would quote.
void move_shell_state(ShellState& state, std::string_view from, std::string_view to);

}  // namespace forkpoint::sandbox
