#include "env/parsers/json_call.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "env/parsers/text.h"

namespace forkpoint::env {
namespace {

// Looks for what nlohmann's reader would pass over in silence. Its interface has the library's names.
class StrictLook final : public nlohmann::json_sax<Json> {
 public:
  const std::optional<FormatError>& error() const { return error_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t& digits) override {
    if (digits.find_first_of(".eE") != std::string::npos) return true;
    error_ = {
        .code = "number_too_large",
        .message = fmt::format("The number {} does not fit into 64 bits. The call was not run.", digits)};
    return false;
  }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    error_ = {.code = "duplicate_key",
              .message =
                  fmt::format("The key \"{}\" stands twice in one JSON object. The call was not run.", name)};
    return false;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::optional<FormatError> error_;
};

}  // namespace

std::optional<std::size_t> json_object_end(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return std::nullopt;
}

std::variant<Json, FormatError> read_json_object(std::string_view text) {
  Result<Json> value = core::parse_json(text, "arguments");
  if (!value) {
    return FormatError{.code = "invalid_json",
                       .message = fmt::format(
                           "The JSON of your call can't be read, so it was not run: {}. Write one complete "
                           "object; inside strings, escape quotes, backslashes and line ends.",
                           value.error().message)};
  }
  if (!value->is_object()) {
    return FormatError{
        .code = "bad_arguments",
        .message = fmt::format("A JSON object is needed, but this is {} {}. The call was not run.",
                               value->is_array() ? "an" : "a", value->type_name())};
  }
  StrictLook look;
  Json::sax_parse(text, &look);
  if (look.error()) return *look.error();
  return std::move(*value);
}

std::variant<ToolCall, FormatError> read_json_call(std::string_view text) {
  std::variant<Json, FormatError> object = read_json_object(text);
  if (const auto* error = std::get_if<FormatError>(&object)) return *error;
  Json& json = std::get<Json>(object);
  const auto name = json.find("name");
  const auto arguments = json.find("arguments");
  const bool complete = json.size() == 2 && name != json.end() && arguments != json.end();
  if (!complete || !name->is_string() || name->get_ref<const std::string&>().empty() ||
      !arguments->is_object()) {
    return FormatError{
        .code = "bad_call",
        .message =
            "A call is a JSON object with a \"name\", which is a text, and \"arguments\", which "
            "is an object, and no other key. The call was not run."};
  }
  return ToolCall{.tool = name->get<std::string>(), .arguments = std::move(*arguments)};
}

std::string write_json_call(const ToolCall& call) {
  return core::to_text(Json{{"name", call.tool}, {"arguments", call.arguments}});
}

}  // namespace forkpoint::env
