// qwen3_coder: functions in tags, each inside <tool_call>.
//
//   <tool_call>
//   <function=bash>
//   <parameter=command>
//   ls -la
//   </parameter>
//   </function>
//   </tool_call>
//
// One or more calls. Values are text, with one line end of syntax on each side (tagged_function.h). Nothing
// inside <think> is a call.
#pragma once

#include <memory>

#include "env/action_parser.h"

namespace forkpoint::env {

std::unique_ptr<ActionParser> make_qwen3_coder();

}  // namespace forkpoint::env
