// Submission: how an agent that only has a shell says that it is done.
//
//   echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff
//
// Pure function.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "sandbox/exec_result.h"

namespace forkpoint::env {

inline constexpr std::string_view kSubmissionLine = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

// What the action has submitted, byte for byte, if it has: its exit code is 0, and the first line of its
// output that is not blank is kSubmissionLine; all that follows is the submission. The line anywhere else is
// just text.
//
// `startup_noise`: what every action of this sandbox prints before its command begins (a BASH_ENV that warns,
// say), as an action that does nothing shows it. Output that begins with it is read from behind it.
//
// Error: `submission_too_large` (Boundary::sandbox) where the sandbox has not kept all of the output.
Result<std::optional<std::string>> find_submission(const sandbox::ExecResult& result,
                                                   std::string_view startup_noise = {});

}  // namespace forkpoint::env
