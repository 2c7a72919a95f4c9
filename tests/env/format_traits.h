// FormatTraits: what the conformance suite has to know of an action format.
#pragma once

#include <rapidcheck.h>

#include <ostream>
#include <string>
#include <vector>

#include "env/action.h"

namespace forkpoint::tests {

struct FormatTraits {
  std::string name;
  bool bash_only = false;      // knows one tool, bash, with one argument, command
  bool several_calls = false;  // a message may hold more than one
  bool has_ids = false;
  bool any_json =
      false;  // arguments of any type and with any text; else text that has none of the format's marks

  friend std::ostream& operator<<(std::ostream& out, const FormatTraits& traits) {
    return out << traits.name;
  }
};

// All formats.
const std::vector<FormatTraits>& format_traits();

// Text out of quotes, fences, tags, JSON, control characters and several scripts, with NUL and all.
rc::Gen<std::string> any_text();

// A command that bash would take for complete: quoted text, comments, here-documents with fences in them.
rc::Gen<std::string> complete_command();

// A call that the format can express.
rc::Gen<env::ToolCall> expressible_call(const FormatTraits& traits);

}  // namespace forkpoint::tests
