#include "env/action.h"

#include <utility>

namespace forkpoint::env {
namespace {

Json or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

Json to_json(const FormatError& error) {
  return Json{{"code", error.code}, {"message", error.message}, {"call_id", or_null(error.call_id)}};
}

}  // namespace

ParsedMessage refused(FormatError error) {
  return ParsedMessage{.thought = {}, .errors = {std::move(error)}};
}

ParsedMessage refused(std::string code, std::string message) {
  return refused(FormatError{.code = std::move(code), .message = std::move(message)});
}

Json to_json(const ParsedMessage& message) {
  Json json;
  json["calls"] = Json::array();
  for (const ToolCall& call : message.calls) {
    json["calls"].push_back({{"tool", call.tool}, {"arguments", call.arguments}, {"id", or_null(call.id)}});
  }
  json["thought"] = message.thought;
  json["errors"] = Json::array();
  for (const FormatError& error : message.errors) json["errors"].push_back(to_json(error));
  json["error"] = message.errors.empty() ? Json(nullptr) : json["errors"].front();
  return json;
}

}  // namespace forkpoint::env
