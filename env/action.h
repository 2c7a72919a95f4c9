// Action: what a model's message asks for, before anything is run.
//
// An action parser (env/action_parser.h) turns an AssistantMessage into a ParsedMessage: the calls, and the
// text around them; or format errors, whose text goes back to the agent. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace forkpoint::env {

// A tool and what it is called with. Which tools there are, and which arguments each takes, is not known
// here.
struct ToolCall {
  std::string tool;
  Json arguments = Json::object();     // always an object
  std::optional<std::string> id = {};  // what the answer must be addressed to, where the format has ids

  bool operator==(const ToolCall& other) const = default;
};

// A message, or one call of it, that could not be read exactly. It is the agent's mistake, never the
// program's: no Error, but data that the agent gets to see.
struct FormatError {
  std::string code;                         // stable, snake_case: "no_call"
  std::string message;                      // for the agent: what is wrong, and how to write it
  std::optional<std::string> call_id = {};  // the call that it answers, where the format has ids
};

// A call that the server has already taken out of the text.
struct StructuredCall {
  std::optional<std::string> id;
  std::string tool;
  std::string arguments;  // the text of a JSON object, not decoded
};

// Why the model stopped writing, as the server says.
enum class Finish {
  unknown,
  stop,    // it was done, or came to a stop string, which is not part of the text
  length,  // the limit on tokens cut it off
};

struct AssistantMessage {
  std::string text;
  std::vector<StructuredCall> calls = {};
  Finish finish = Finish::unknown;
};

// Either calls or errors are there. Both only in a format with ids, where each call is answered by itself;
// elsewhere one error refuses the whole message.
struct ParsedMessage {
  std::string thought;  // the text without its calls and without blank space around it; all text on an error
  std::vector<ToolCall> calls = {};
  std::vector<FormatError> errors = {};
};

// A message that was refused.
ParsedMessage refused(FormatError error);
ParsedMessage refused(std::string code, std::string message);

// The object of `forkpoint actions parse`: "error" is the first of "errors".
Json to_json(const ParsedMessage& message);

}  // namespace forkpoint::env
