#include "env/parsers/command_call.h"

#include "env/parsers/text.h"

namespace forkpoint::env {

ParsedMessage command_message(std::string_view command, std::string_view before, std::string_view after) {
  if (trim(command).empty()) {
    return refused("empty_command", "The block for your command is empty. Nothing was run.");
  }
  return ParsedMessage{
      .thought = std::string(before) + std::string(after),
      .calls = {{.tool = std::string(kBashTool), .arguments = {{kCommandArgument, std::string(command)}}}}};
}

std::string command_of(const ToolCall& call) {
  const auto argument = call.arguments.find(kCommandArgument);
  const bool is_text = argument != call.arguments.end() && argument->is_string();
  return is_text ? argument->get<std::string>() : "";
}

ParsedMessage refused_unfinished_thought() {
  return refused("unfinished_thought",
                 "Your message opens <think> and does not close it, so it holds no answer. Nothing was run.");
}

}  // namespace forkpoint::env
