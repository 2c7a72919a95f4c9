// A function in tags.
//
//   <function=NAME>
//   <parameter=KEY>
//   value
//   </parameter>
//   </function>
//
// A value is all text between its tags but for one line end on each side, if there is one; indentation is
// part of it. It may not hold any of these four tags, because then nobody could tell where it ends.
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "env/action.h"
#include "env/parsers/tagged_calls.h"

namespace forkpoint::env {

inline constexpr std::string_view kFunctionOpen = "<function=";

// The tags that stand only inside of a function.
const std::vector<std::string_view>& inner_function_tags();

// What a missing "</function>" at the end of the text means.
enum class FunctionTail {
  needed,       // a function that is cut off
  begun,        // closed where "</" has been written, which can begin no other tag there
  may_be_gone,  // closed behind any parameter: the server has taken the tail off
};

// The function at `at`. Errors: `unclosed_call`, `unbalanced_tags`, `bad_call` (a name that is none, text
// between parameters), `duplicate_argument`.
std::variant<TaggedCall, FormatError> read_function(std::string_view text, std::size_t at, FunctionTail tail);

// The same as text. Arguments that are no text appear as JSON, which is read back as text.
std::string write_function(const ToolCall& call);

}  // namespace forkpoint::env
