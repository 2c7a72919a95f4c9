// ActionParser: reads the calls out of a model's message, in one format.
//
//   const auto parser = make_action_parser("bash_block").value();
//   const ParsedMessage parsed = parser->parse({.text = "Let me look.\n```bash\nls\n```\n"});
//   if (parsed.errors.empty()) run(parsed.calls);
//
// The promise of every parser: a call that it returns is exactly what the message says. What could be read in
// two ways, is cut off, or does not end where it must, is refused with a FormatError; nothing is guessed,
// trimmed or repaired, but for a tail that can only be completed in one way.
//
// What no parser can see: a message that was cut exactly where it could as well have ended. Say
// Finish::length when the server says so.
//
// Parsers hold no state: one may be used by any number of threads at once.
#pragma once

#include <string_view>

#include "core/result.h"
#include "env/action.h"

namespace forkpoint::env {

class ActionParser {
 public:
  virtual ~ActionParser() = default;

  virtual std::string_view name() const = 0;

  // Never fails and never throws: what can't be read is among the errors of the answer. Besides each format's
  // own: `no_call`; `not_utf8`, `too_long` (over kMessageBytesMax) and `cut_off` (Finish::length).
  ParsedMessage parse(const AssistantMessage& message) const;

  // The message that parse() reads back as exactly these calls: for demonstrations and scripted policies.
  // Error: `not_renderable` where the format has no way to write them (text arguments that hold the format's
  // own marks, several calls where a message has one, ids where there are none).
  Result<AssistantMessage> render(std::string_view thought, const std::vector<ToolCall>& calls) const;

 private:
  // parse() without what is common to all; the text is UTF-8.
  virtual ParsedMessage read(const AssistantMessage& message) const = 0;

  // The calls written down, whether or not they can be read back: render() sees to that.
  virtual AssistantMessage write(std::string_view thought, const std::vector<ToolCall>& calls) const = 0;
};

inline constexpr std::size_t kMessageBytesMax = std::size_t{16} << 20;

}  // namespace forkpoint::env
