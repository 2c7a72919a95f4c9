// Reading the expectations of a suite's step.
//
// Pure function. Errors are those of core/toml.h.
#pragma once

#include "core/result.h"
#include "core/toml.h"
#include "sandbox/suite.h"

namespace forkpoint::sandbox {

// The table `expect` of `step`, whose other keys have been read: what can't be said of a step like it is an
// error.
Result<Expectation> read_expectation(const core::TomlNode& node, const Step& step);

}  // namespace forkpoint::sandbox
