#include "env/parsers/xml_function.h"

#include "env/parsers/tagged_calls.h"
#include "env/parsers/tagged_function.h"

namespace forkpoint::env {
namespace {

const TagFormat& format() {
  static const TagFormat format = {.open = kFunctionOpen,
                                   .inner_tags = inner_function_tags(),
                                   .how_to =
                                       "Write <function=NAME>, then for each parameter "
                                       "<parameter=KEY>value</parameter>, then </function>."};
  return format;
}

class XmlFunction final : public ActionParser {
 public:
  std::string_view name() const override { return "xml_function"; }

 private:
  ParsedMessage read(const AssistantMessage& message) const override {
    const FunctionTail tail =
        message.finish == Finish::stop ? FunctionTail::may_be_gone : FunctionTail::begun;
    ParsedMessage parsed = read_tagged_calls(
        message.text, format(),
        [tail](std::string_view text, std::size_t at) { return read_function(text, at, tail); });
    if (parsed.calls.size() > 1) parsed.calls.resize(1);
    return parsed;
  }

  AssistantMessage write(std::string_view thought, const std::vector<ToolCall>& calls) const override {
    AssistantMessage message{.text = std::string(thought)};
    for (const ToolCall& call : calls) message.text += "\n\n" + write_function(call);
    return message;
  }
};

}  // namespace

std::unique_ptr<ActionParser> make_xml_function() { return std::make_unique<XmlFunction>(); }

}  // namespace forkpoint::env
