#include "env/action_parser.h"

#include <fmt/format.h>

#include "core/utf8.h"
#include "env/parsers/text.h"

namespace forkpoint::env {
namespace {

// What makes a message unreadable in every format.
std::optional<ParsedMessage> refuse(const AssistantMessage& message) {
  if (message.finish == Finish::length) {
    return refused(
        "cut_off",
        "Your message reached the length limit and was cut off, so nothing of it was run. Say less "
        "and make the call again.");
  }
  std::size_t bytes = message.text.size();
  bool utf8 = core::is_utf8(message.text);
  for (const StructuredCall& call : message.calls) {
    bytes += call.tool.size() + call.arguments.size();
    utf8 = utf8 && core::is_utf8(call.tool) && core::is_utf8(call.arguments);
  }
  if (bytes > kMessageBytesMax) {
    return refused("too_long",
                   fmt::format("Your message has {} bytes, more than the {} that are read. Nothing was run.",
                               bytes, kMessageBytesMax));
  }
  if (!utf8) {
    return refused("not_utf8", "Your message is not valid UTF-8, so it can't be read. Nothing was run.");
  }
  return std::nullopt;
}

}  // namespace

ParsedMessage ActionParser::parse(const AssistantMessage& message) const {
  std::optional<ParsedMessage> refusal = refuse(message);
  ParsedMessage parsed = refusal ? std::move(*refusal) : read(message);
  const bool read_nothing = parsed.calls.empty() && !parsed.errors.empty();
  parsed.thought = trim(read_nothing ? std::string_view(message.text) : parsed.thought);
  return parsed;
}

Result<AssistantMessage> ActionParser::render(std::string_view thought,
                                              const std::vector<ToolCall>& calls) const {
  AssistantMessage message = write(thought, calls);
  const ParsedMessage back = parse(message);
  if (back.errors.empty() && back.calls == calls && back.thought == trim(thought)) return message;
  return Error{.boundary = Boundary::task,
               .fault = Fault::input,
               .code = "not_renderable",
               .message = fmt::format("the format {} can't express this message{}", name(),
                                      back.errors.empty() ? "" : ": " + back.errors.front().code)};
}

}  // namespace forkpoint::env
