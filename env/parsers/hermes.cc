#include "env/parsers/hermes.h"

#include "env/parsers/json_call.h"
#include "env/parsers/tagged_calls.h"
#include "env/parsers/text.h"

namespace forkpoint::env {
namespace {

constexpr std::string_view kOpen = "<tool_call>";
constexpr std::string_view kClose = "</tool_call>";
constexpr std::string_view kHowTo =
    "Write <tool_call>, then {\"name\": NAME, \"arguments\": {...}} as JSON, then </tool_call>.";

const TagFormat& format() {
  static const TagFormat format = {.open = kOpen, .inner_tags = {kClose}, .how_to = kHowTo};
  return format;
}

std::variant<TaggedCall, FormatError> read_call(std::string_view text, std::size_t at) {
  at = skip_blank(text, at + kOpen.size());
  if (at == text.size() || text[at] != '{')
    return call_error("invalid_json", "Behind <tool_call> no JSON object follows.", format());
  const std::optional<std::size_t> object_end = json_object_end(text, at);
  if (!object_end)
    return call_error("invalid_json", "The JSON object behind <tool_call> does not end.", format());
  std::variant<ToolCall, FormatError> call = read_json_call(text.substr(at, *object_end - at));
  if (auto* error = std::get_if<FormatError>(&call)) return std::move(*error);
  const std::size_t close = skip_blank(text, *object_end);
  if (!text.substr(close).starts_with(kClose)) {
    return call_error("unclosed_call", "Behind the JSON object of a call no </tool_call> follows.", format());
  }
  return TaggedCall{.call = std::move(std::get<ToolCall>(call)), .end = close + kClose.size()};
}

class Hermes final : public ActionParser {
 public:
  std::string_view name() const override { return "hermes"; }

 private:
  ParsedMessage read(const AssistantMessage& message) const override {
    return read_tagged_calls(message.text, format(), read_call);
  }

  AssistantMessage write(std::string_view thought, const std::vector<ToolCall>& calls) const override {
    AssistantMessage message{.text = std::string(thought)};
    for (const ToolCall& call : calls) {
      message.text += "\n" + std::string(kOpen) + "\n" + write_json_call(call) + "\n" + std::string(kClose);
    }
    return message;
  }
};

}  // namespace

std::unique_ptr<ActionParser> make_hermes() { return std::make_unique<Hermes>(); }

}  // namespace forkpoint::env
