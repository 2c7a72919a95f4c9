// openai_tools: calls that the server has taken out of the text, as in OpenAI's chat completions.
//
// One or more calls. Each is answered under its own id, so that a bad one does not take the others with it:
// its error carries its id. Arguments are decoded once and must be an object. What is refused: see
// json_call.h; also a call whose id another has used (`duplicate_call_id`).
#pragma once

#include <memory>

#include "env/action_parser.h"

namespace forkpoint::env {

std::unique_ptr<ActionParser> make_openai_tools();

// {"content": str|null|[{"type": "text", "text": str}...], "tool_calls": [{"id", "function": {"name",
// "arguments"}}...]}, as the API gives it; other keys don't matter. Arguments that a server has decoded
// already are taken as they are. Error: `bad_message` (Fault::input), for a message of another shape.
Result<AssistantMessage> read_openai_message(const Json& message);

}  // namespace forkpoint::env
