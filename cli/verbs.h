// All verbs of the program. A new verb is one file pair and one line here.
#pragma once

#include <memory>
#include <vector>

#include "cli/verb.h"

namespace forkpoint::cli {

// In the order of the program's help. Making a verb is cheap: it opens nothing before it runs.
std::vector<std::unique_ptr<Verb>> make_verbs();

}  // namespace forkpoint::cli
