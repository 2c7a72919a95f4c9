#include "env/parsers/openai_tools.h"

#include <fmt/format.h>

#include <set>

#include "env/parsers/json_call.h"

namespace forkpoint::env {
namespace {

Error bad_message(std::string what) {
  return Error{.boundary = Boundary::policy,
               .fault = Fault::input,
               .code = "bad_message",
               .message = "not an assistant's message: " + std::move(what)};
}

Result<std::string> read_content(const Json& content) {
  if (content.is_null()) return std::string();
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return bad_message("\"content\" is neither text nor a list of parts");
  std::string text;
  for (const Json& part : content) {
    const bool is_text = part.is_object() && part.value("type", Json()) == "text";
    if (!is_text || !part.contains("text") || !part.at("text").is_string()) {
      return bad_message("a part of \"content\" is no text");
    }
    text += part.at("text").get<std::string>();
  }
  return text;
}

Result<StructuredCall> read_call(const Json& json) {
  const auto function = json.is_object() ? json.find("function") : json.end();
  if (!json.is_object() || function == json.end() || !function->is_object()) {
    return bad_message("a call of \"tool_calls\" has no \"function\"");
  }
  const Json id = json.value("id", Json());
  const Json name = function->value("name", Json());
  const Json arguments = function->value("arguments", Json());
  if (!name.is_string() || !(id.is_string() || id.is_null())) {
    return bad_message("a call's \"name\" and \"id\" must be texts");
  }
  return StructuredCall{
      .id = id.is_null() ? std::nullopt : std::optional(id.get<std::string>()),
      .tool = name.get<std::string>(),
      .arguments = arguments.is_string() ? arguments.get<std::string>() : core::to_text(arguments)};
}

class OpenaiTools final : public ActionParser {
 public:
  std::string_view name() const override { return "openai_tools"; }

 private:
  ParsedMessage read(const AssistantMessage& message) const override {
    if (message.calls.empty()) {
      return refused("no_call",
                     "Your message calls no tool, so nothing was run. Use one of the tools you were given.");
    }
    ParsedMessage parsed{.thought = message.text};
    std::set<std::string> ids;
    for (const StructuredCall& call : message.calls) {
      if (call.id && !ids.insert(*call.id).second) {
        // Two calls of one id can't both be answered: none of the message is run.
        return refused("duplicate_call_id",
                       fmt::format("Two calls have the id '{}'. Nothing was run.", *call.id));
      }
      std::variant<Json, FormatError> arguments = read_arguments(call);
      if (auto* error = std::get_if<FormatError>(&arguments)) {
        error->call_id = call.id;
        parsed.errors.push_back(std::move(*error));
      } else {
        parsed.calls.push_back(
            {.tool = call.tool, .arguments = std::move(std::get<Json>(arguments)), .id = call.id});
      }
    }
    return parsed;
  }

  static std::variant<Json, FormatError> read_arguments(const StructuredCall& call) {
    if (call.tool.empty()) {
      return FormatError{.code = "bad_call", .message = "The call names no tool. It was not run."};
    }
    return read_json_object(call.arguments);
  }

  AssistantMessage write(std::string_view thought, const std::vector<ToolCall>& calls) const override {
    AssistantMessage message{.text = std::string(thought)};
    for (const ToolCall& call : calls) {
      message.calls.push_back({.id = call.id, .tool = call.tool, .arguments = core::to_text(call.arguments)});
    }
    return message;
  }
};

}  // namespace

std::unique_ptr<ActionParser> make_openai_tools() { return std::make_unique<OpenaiTools>(); }

Result<AssistantMessage> read_openai_message(const Json& message) {
  if (!message.is_object()) return bad_message("it is no JSON object");
  AssistantMessage read;
  FORKPOINT_ASSIGN_OR_RETURN(read.text, read_content(message.value("content", Json())));
  const Json calls = message.value("tool_calls", Json());
  if (!calls.is_null() && !calls.is_array()) return bad_message("\"tool_calls\" is no list");
  for (const Json& json : calls) {
    FORKPOINT_ASSIGN_OR_RETURN(StructuredCall call, read_call(json));
    read.calls.push_back(std::move(call));
  }
  return read;
}

}  // namespace forkpoint::env
