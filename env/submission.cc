#include "env/submission.h"

#include <fmt/format.h>

#include "env/parsers/text.h"

namespace forkpoint::env {

Result<std::optional<std::string>> find_submission(const sandbox::ExecResult& result,
                                                   std::string_view startup_noise) {
  // A result without an exit code was ended by a signal or a limit.
  if (result.exit_code != 0 || result.timed_out) return std::nullopt;
  std::string_view output = result.output.head;
  if (output.starts_with(startup_noise)) output.remove_prefix(startup_noise.size());
  const std::optional<Line> first = line_at(output, skip_blank(output, 0));
  if (!first) return std::nullopt;
  std::string_view words = first->of(output);
  if (words.ends_with('\r')) words.remove_suffix(1);
  if (words != kSubmissionLine) return std::nullopt;
  if (result.output.truncated()) {
    return Error{.boundary = Boundary::sandbox,
                 .fault = Fault::work,
                 .code = "submission_too_large",
                 .message = fmt::format("the submission is lost: of {} bytes of output {} were not kept",
                                        result.output.bytes_total, result.output.bytes_left_out()),
                 .advice = "raise the limit on output"};
  }
  return std::string(output.substr(first->next));
}

}  // namespace forkpoint::env
