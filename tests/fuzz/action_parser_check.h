// What holds for every action parser and every message, checked on one.
//
// Pure function.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "env/action_parser.h"

namespace forkpoint::tests {

// The promise that the parser breaks on `text` (for openai_tools: a call with these arguments), in words;
// nothing if it keeps them all:
//   - there are calls or there is an error, and errors have a code and a text;
//   - arguments are objects; those that are taken from the text as they are stand in it;
//   - the beginning of a message is refused, or holds the first of its calls and no other.
std::optional<std::string> broken_promise(const env::ActionParser& parser, std::string_view text);

}  // namespace forkpoint::tests
