// forkpoint sandbox run: one command, or a file of actions, in a new sandbox.
#pragma once

#include <memory>

#include "cli/verb.h"

namespace forkpoint::cli {

std::unique_ptr<Verb> make_sandbox_run();

}  // namespace forkpoint::cli
