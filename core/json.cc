#include "core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace forkpoint::core {
namespace {

Error json_error(std::string code, std::string message) {
  return Error{.boundary = Boundary::system,
               .fault = Fault::input,
               .code = std::move(code),
               .message = std::move(message)};
}

// "source:line:column" of the byte at `offset`.
std::string position(std::string_view text, std::size_t offset, std::string_view source,
                     std::size_t first_line) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines_before = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}:{}", source, first_line + lines_before, before.size() - line_start + 1);
}

// Where more than `depth_max` brackets are open. Done before parsing because a deep value is a danger to
// whoever walks it recursively, nlohmann's own dump included.
std::optional<std::size_t> too_deep_at(std::string_view text, std::size_t depth_max) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > depth_max) return i;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

// nlohmann writes "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while
// parsing value - unexpected end of input"; only the last part helps.
std::string without_preamble(std::string_view what) {
  for (const std::string_view mark : {"] ", "column ", ": "}) {
    if (const std::size_t at = what.find(mark); at != std::string_view::npos)
      what.remove_prefix(at + mark.size());
  }
  return std::string(what);
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view source, const JsonLimits& limits,
                        std::size_t first_line) {
  if (text.size() > limits.bytes_max) {
    return json_error("json_too_large", fmt::format("{}:{}: {} bytes of JSON, more than the limit of {}",
                                                    source, first_line, text.size(), limits.bytes_max));
  }
  if (const auto at = too_deep_at(text, limits.depth_max)) {
    return json_error("json_too_deep",
                      fmt::format("{}: JSON nested deeper than {}", position(text, *at, source, first_line),
                                  limits.depth_max));
  }
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    // `byte` counts the bytes read, the offending one included.
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    return json_error("json_syntax", fmt::format("{}: {}", position(text, offset, source, first_line),
                                                 without_preamble(error.what())));
  } catch (const nlohmann::json::exception& error) {  // a number beyond the range of double
    return json_error("json_syntax",
                      fmt::format("{}:{}: {}", source, first_line, without_preamble(error.what())));
  }
}

std::string to_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace forkpoint::core
