#include "env/parsers/qwen3_coder.h"

#include "env/parsers/tagged_calls.h"
#include "env/parsers/tagged_function.h"
#include "env/parsers/text.h"

namespace forkpoint::env {
namespace {

constexpr std::string_view kOpen = "<tool_call>";
constexpr std::string_view kClose = "</tool_call>";
constexpr std::string_view kHowTo =
    "Write <tool_call>, <function=NAME>, for each parameter <parameter=KEY>, its value and </parameter>, "
    "then "
    "</function> and </tool_call>, each on a line of its own.";

const TagFormat& format() {
  static const TagFormat format = [] {
    TagFormat made = {.open = kOpen, .inner_tags = inner_function_tags(), .how_to = kHowTo};
    made.inner_tags.push_back(kFunctionOpen);
    made.inner_tags.push_back(kClose);
    return made;
  }();
  return format;
}

std::variant<TaggedCall, FormatError> read_call(std::string_view text, std::size_t at) {
  at = skip_blank(text, at + kOpen.size());
  if (!text.substr(at).starts_with(kFunctionOpen)) {
    return call_error("unclosed_call", "Behind <tool_call> no <function=NAME> follows.", format());
  }
  std::variant<TaggedCall, FormatError> read = read_function(text, at, FunctionTail::needed);
  if (auto* call = std::get_if<TaggedCall>(&read)) {
    const std::size_t end = skip_blank(text, call->end);
    if (!text.substr(end).starts_with(kClose))
      return call_error("unclosed_call", "Behind </function> no </tool_call> follows.", format());
    call->end = end + kClose.size();
  }
  return read;
}

class Qwen3Coder final : public ActionParser {
 public:
  std::string_view name() const override { return "qwen3_coder"; }

 private:
  ParsedMessage read(const AssistantMessage& message) const override {
    return read_tagged_calls(message.text, format(), read_call);
  }

  AssistantMessage write(std::string_view thought, const std::vector<ToolCall>& calls) const override {
    AssistantMessage message{.text = std::string(thought)};
    for (const ToolCall& call : calls) {
      message.text += "\n\n" + std::string(kOpen) + "\n" + write_function(call) + "\n" + std::string(kClose);
    }
    return message;
  }
};

}  // namespace

std::unique_ptr<ActionParser> make_qwen3_coder() { return std::make_unique<Qwen3Coder>(); }

}  // namespace forkpoint::env
