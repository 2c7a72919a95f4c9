// react: Thought, Action, Action Input.
//
//   Thought: I look at the files first.
//   Action: bash
//   Action Input: {"command": "ls -la"}
//
// One call. The input is a JSON object, over as many lines as it likes, because the end of plain text can not
// be told from text that was cut off. What follows a line that begins with "Observation:" was made up by the
// model and is dropped. What is refused: no action (`no_call`), several (`several_calls`), an action without
// input (`no_input`), text behind the input (`trailing_text`), and what json_call.h refuses.
#pragma once

#include <memory>

#include "env/action_parser.h"

namespace forkpoint::env {

std::unique_ptr<ActionParser> make_react();

}  // namespace forkpoint::env
