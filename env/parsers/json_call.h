// A call as a JSON object, read so that nothing can be lost.
//
// JSON readers differ in what they forgive; what one of them would drop or change is refused here: an object
// with the same key twice, and whole numbers that don't fit into 64 bits.
//
// Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

#include "env/action.h"

namespace forkpoint::env {

// Behind the object that begins at `at`, which must be a '{'; nothing when it does not end. Brackets and
// strings are counted, nothing else is checked.
std::optional<std::size_t> json_object_end(std::string_view text, std::size_t at);

// `text` as the object of a call's arguments. Errors: `invalid_json`, `bad_arguments` (no object),
// `duplicate_key`, `number_too_large`.
std::variant<Json, FormatError> read_json_object(std::string_view text);

// {"name": str, "arguments": {...}}, both and no other key. Errors: those above, `bad_call`.
std::variant<ToolCall, FormatError> read_json_call(std::string_view text);

// The same as text, on one line.
std::string write_json_call(const ToolCall& call);

}  // namespace forkpoint::env
