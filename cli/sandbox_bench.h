// forkpoint sandbox bench: how fast sandboxes are here, against what else could do the work.
#pragma once

#include <memory>

#include "cli/verb.h"

namespace forkpoint::cli {

std::unique_ptr<Verb> make_sandbox_bench();

}  // namespace forkpoint::cli
