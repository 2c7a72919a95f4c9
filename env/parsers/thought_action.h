// thought_action: a thought, and the last fenced block is the command.
//
//   The test fails in line 7; I open the file there.
//   ```
//   open main.py 7
//   ```
//
// A fence with an info string opens a level, also inside another block; a fence without one closes the level
// that is open, or opens one where none is. The last block of the outermost level is the action: tool "bash"
// with argument "command"; the text before and after it is the thought.
//
// What is refused: no block (`no_call`), a fence that stays open (`unclosed_block`), an empty block
// (`empty_command`), a command that ends inside a quote, an expansion or a here-document
// (`incomplete_command`; not asked of a command that ends with a line `end_of_...`, whose text is no shell),
// and an earlier block whose here-document ends only behind it (`ambiguous_fences`).
#pragma once

#include <memory>

#include "env/action_parser.h"

namespace forkpoint::env {

std::unique_ptr<ActionParser> make_thought_action();

}  // namespace forkpoint::env
