#include "tests/fuzz/action_parser_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace forkpoint::tests {
namespace {

using env::ActionParser;
using env::AssistantMessage;
using env::ParsedMessage;
using env::ToolCall;

AssistantMessage message_of(const ActionParser& parser, std::string_view text) {
  AssistantMessage message;
  if (parser.name() == "openai_tools") {
    message.calls.push_back({.id = "call_1", .tool = "bash", .arguments = std::string(text)});
  } else {
    message.text = text;
  }
  return message;
}

bool takes_text_as_it_is(std::string_view format) {
  return format == "bash_block" || format == "thought_action" || format == "xml_function" ||
         format == "qwen3_coder";
}

// Of these a beginning may well hold another call: an earlier block, a thought that has not ended yet.
bool beginnings_differ(const ActionParser& parser, std::string_view text) {
  return parser.name() == "thought_action" || text.find("</think>") != std::string_view::npos;
}

std::optional<std::string> broken_shape(const ParsedMessage& parsed) {
  if (parsed.calls.empty() == parsed.errors.empty()) return "neither or both of calls and errors";
  for (const env::FormatError& error : parsed.errors) {
    if (error.code.empty() || !error.message.ends_with('.')) return "an error without code or sentence";
  }
  const bool shapeless = std::any_of(parsed.calls.begin(), parsed.calls.end(), [](const ToolCall& call) {
    return call.tool.empty() || !call.arguments.is_object();
  });
  return shapeless ? std::optional<std::string>("a call without tool or arguments") : std::nullopt;
}

std::optional<std::string> changed_text(const ParsedMessage& parsed, std::string_view text) {
  for (const ToolCall& call : parsed.calls) {
    for (const auto& [key, value] : call.arguments.items()) {
      if (!value.is_string() || text.find(value.get_ref<const std::string&>()) == std::string_view::npos) {
        return fmt::format("the argument {} is not what the message says", key);
      }
    }
  }
  return std::nullopt;
}

// Every cut of a short message; of a long one some, spread evenly.
std::optional<std::string> other_call_when_cut(const ActionParser& parser, const ParsedMessage& whole,
                                               std::string_view text) {
  const std::size_t stride = text.size() / 256 + 1;
  for (std::size_t bytes = 0; bytes < text.size(); bytes += stride) {
    const ParsedMessage part = parser.parse(message_of(parser, text.substr(0, bytes)));
    const bool begins_alike = part.calls.size() <= whole.calls.size() &&
                              std::equal(part.calls.begin(), part.calls.end(), whole.calls.begin());
    if (!begins_alike) return fmt::format("cut off after {} bytes it holds another call", bytes);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_promise(const ActionParser& parser, std::string_view text) {
  const ParsedMessage parsed = parser.parse(message_of(parser, text));
  if (auto broken = broken_shape(parsed)) return broken;
  if (!parsed.errors.empty()) return std::nullopt;
  if (takes_text_as_it_is(parser.name())) {
    if (auto broken = changed_text(parsed, text)) return broken;
  }
  if (beginnings_differ(parser, text)) return std::nullopt;
  return other_call_when_cut(parser, parsed, text);
}

}  // namespace forkpoint::tests
