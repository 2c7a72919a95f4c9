#include "env/parsers/react.h"

#include <fmt/format.h>

#include <optional>

#include "env/parsers/command_call.h"
#include "env/parsers/json_call.h"
#include "env/parsers/text.h"

namespace forkpoint::env {
namespace {

constexpr std::string_view kThought = "Thought:";
constexpr std::string_view kAction = "Action:";
constexpr std::string_view kInput = "Action Input:";
constexpr std::string_view kObservation = "Observation:";
constexpr std::string_view kHowTo =
    "Write a line 'Action: NAME' and below it 'Action Input: ' with one JSON object that holds the "
    "arguments.";

ParsedMessage fail(std::string code, std::string_view what) {
  return refused(std::move(code), fmt::format("{} Nothing was run. {}", what, kHowTo));
}

// The first line from `at` on that begins with `label`.
std::optional<Line> find_label(std::string_view text, std::size_t at, std::string_view label) {
  while (const std::optional<Line> line = line_at(text, at)) {
    if (line->of(text).starts_with(label)) return line;
    at = line->next;
  }
  return std::nullopt;
}

// What is left to refuse behind the input: another action, or text that belongs to nothing.
std::optional<ParsedMessage> refuse_rest(std::string_view text, std::size_t at) {
  const std::optional<Line> observation = find_label(text, at, kObservation);
  const std::string_view rest = text.substr(0, observation ? observation->begin : text.size());
  if (trim(rest.substr(at)).empty()) return std::nullopt;
  std::size_t actions = 1;
  for (auto next = find_label(rest, at, kAction); next; next = find_label(rest, next->next, kAction))
    ++actions;
  if (actions > 1)
    return fail("several_calls", fmt::format("Expected exactly one action, found {}.", actions));
  return fail("trailing_text", "Behind the JSON object of your action stands more text.");
}

class React final : public ActionParser {
 public:
  std::string_view name() const override { return "react"; }

 private:
  ParsedMessage read(const AssistantMessage& message) const override {
    const std::string_view text = message.text;
    const std::optional<std::size_t> begin = answer_begin(text);
    if (!begin) return refused_unfinished_thought();
    const std::optional<Line> action = find_label(text, *begin, kAction);
    if (!action) return fail("no_call", "Your message holds no action.");
    ToolCall call{.tool = std::string(trim(action->of(text).substr(kAction.size())))};
    if (!is_name(call.tool)) return fail("bad_call", "What stands behind 'Action:' is not a name.");

    const std::size_t label = skip_blank(text, action->next);
    if (!text.substr(label).starts_with(kInput)) {
      return fail("no_input", "No 'Action Input:' follows your action.");
    }
    const std::size_t input = skip_blank(text, label + kInput.size());
    if (input == text.size() || text[input] != '{')
      return fail("invalid_json", "The input is not a JSON object.");
    const std::optional<std::size_t> end = json_object_end(text, input);
    if (!end) return fail("invalid_json", "The JSON object of the input does not end.");
    std::variant<Json, FormatError> arguments = read_json_object(text.substr(input, *end - input));
    if (const auto* error = std::get_if<FormatError>(&arguments)) return refused(*error);
    if (std::optional<ParsedMessage> refusal = refuse_rest(text, *end)) return *std::move(refusal);

    call.arguments = std::move(std::get<Json>(arguments));
    std::string_view thought = trim(text.substr(0, action->begin));
    if (thought.starts_with(kThought)) thought.remove_prefix(kThought.size());
    return ParsedMessage{.thought = std::string(thought), .calls = {std::move(call)}};
  }

  AssistantMessage write(std::string_view thought, const std::vector<ToolCall>& calls) const override {
    AssistantMessage message{.text = fmt::format("{} {}", kThought, thought)};
    for (const ToolCall& call : calls) {
      message.text +=
          fmt::format("\n{} {}\n{} {}", kAction, call.tool, kInput, core::to_text(call.arguments));
    }
    return message;
  }
};

}  // namespace

std::unique_ptr<ActionParser> make_react() { return std::make_unique<React>(); }

}  // namespace forkpoint::env
