// Comparing what a step came to with what its suite expects.
//
// Each difference is a line for people. Thread-safety is that of the sandbox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/exec_result.h"
#include "sandbox/sandbox.h"
#include "sandbox/suite.h"

namespace forkpoint::sandbox {

using Differences = std::vector<std::string>;

// `workspace` is what relative paths are relative to.
Differences check_result(const ExecResult& result, const Expectation& expect, std::string_view workspace);

// What `expect` says of files, read through the sandbox; `since` is the snapshot that `changed` speaks of. A
// file that can't be read is a difference too.
Differences check_files(Sandbox& sandbox, const Expectation& expect, const SnapshotRef& since);

// "/workspace/src/a.c" for "src/a.c"; absolute paths as they are; "." is the workspace.
std::string absolute_path(std::string_view path, std::string_view workspace);

// Bytes in quotes, with escapes for all that is no plain text, and only the beginning of what is long.
std::string in_quotes(std::string_view bytes);

}  // namespace forkpoint::sandbox
