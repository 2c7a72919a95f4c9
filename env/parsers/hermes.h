// hermes: calls as JSON inside <tool_call>; what Qwen2.5 and Qwen3 write.
//
//   <tool_call>
//   {"name": "bash", "arguments": {"command": "ls -la"}}
//   </tool_call>
//
// One or more calls. Nothing inside <think> is a call. What is refused: see json_call.h and tagged_calls.h.
#pragma once

#include <memory>

#include "env/action_parser.h"

namespace forkpoint::env {

std::unique_ptr<ActionParser> make_hermes();

}  // namespace forkpoint::env
