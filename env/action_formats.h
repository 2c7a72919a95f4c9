// The formats there are, by name.
//
// Pure functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "env/action_parser.h"

namespace forkpoint::env {

// In alphabetical order.
const std::vector<std::string>& action_formats();

// Error: `unknown_format` (Boundary::config, Fault::input), with the nearest name.
Result<std::unique_ptr<ActionParser>> make_action_parser(std::string_view format);

}  // namespace forkpoint::env
