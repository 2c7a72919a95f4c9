// The program: finds the verb that the command line names, runs it, and turns its outcome into an exit code.
//
// Exit codes: 0 done; 1 the work failed or a check found a fault; 2 bad usage or config; 3 the host lacks
// something; 130 interrupted. A failure is one line on `err`; with --json there is also {"error": {...}} on
// `out`, so that scripts always read exactly one object.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "cli/verb.h"

namespace forkpoint::cli {

// `arguments` without the program's name. Results go to `out`, messages to `err`. Never throws.
int run_program(const std::vector<std::string>& arguments, const std::vector<std::unique_ptr<Verb>>& verbs,
                std::ostream& out, std::ostream& err);

}  // namespace forkpoint::cli
