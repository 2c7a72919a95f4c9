// bash_block: one fenced block that is a bash command.
//
//   I look at the files first.
//
//   ```bash
//   ls -la
//   ```
//
// The info string is `bash` or `mswea_bash_command`. Exactly one such block; fenced blocks of other languages
// are prose. The call is tool "bash" with argument "command": the lines between the fences, as they are.
//
// A here-document may hold fences: the block ends at the first closing fence that stands outside one. What is
// refused: none or several blocks (`no_call`, `several_calls`), one that is not closed (`unclosed_block`),
// one that ends inside a quote, an expansion or a parenthesis (`incomplete_command`), an empty one
// (`empty_command`). Also lines of backticks that could mean two things (`ambiguous_fences`): outside of
// here-documents one that begins like the closing fence and goes on, inside of them what could be the end of
// this block and the beginning of the next.
#pragma once

#include <memory>

#include "env/action_parser.h"

namespace forkpoint::env {

std::unique_ptr<ActionParser> make_bash_block();

}  // namespace forkpoint::env
