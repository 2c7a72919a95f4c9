// forkpoint sandbox test: suites of cases that say how sandboxes must behave.
#pragma once

#include <memory>

#include "cli/verb.h"

namespace forkpoint::cli {

std::unique_ptr<Verb> make_sandbox_test();

}  // namespace forkpoint::cli
