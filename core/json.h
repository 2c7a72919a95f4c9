// JSON: nlohmann/json with order kept, sizes limited, and errors that say where.
//
// Pure functions. Text in and out is UTF-8.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/result.h"

namespace forkpoint {
namespace core {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::size_t bytes_max = std::size_t{64} << 20;
  std::size_t depth_max =
      128;  // arrays and objects open at once; text of untrusted origin could nest without end
};

// One JSON value. Errors (Fault::input): `json_too_large`, `json_too_deep`, `json_syntax`, the message of
// each with `source`, line and column: "tasks.jsonl:1:17: ...". `first_line` is the number of the text's
// first line in the source, for formats with a value on each line.
Result<Json> parse_json(std::string_view text, std::string_view source, const JsonLimits& limits = {},
                        std::size_t first_line = 1);

// The text of a value: one line, or indented by `indent` spaces. Bytes that are not UTF-8 become U+FFFD;
// NaN and infinities, which JSON can't hold, become null.
std::string to_text(const Json& value, int indent = -1);

}  // namespace core

using core::Json;

}  // namespace forkpoint
