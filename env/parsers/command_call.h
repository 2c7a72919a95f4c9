// What the formats that know one tool share: a bash command as a call, and what they refuse alike.
//
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "env/action.h"

namespace forkpoint::env {

inline constexpr std::string_view kBashTool = "bash";
inline constexpr std::string_view kCommandArgument = "command";

// The message that asks for `command`; refused (`empty_command`) where that is blank.
ParsedMessage command_message(std::string_view command, std::string_view before, std::string_view after);

// The command of such a call; "" for any other, which no block can express.
std::string command_of(const ToolCall& call);

// `unfinished_thought`: all of the message is inside <think>.
ParsedMessage refused_unfinished_thought();

}  // namespace forkpoint::env
