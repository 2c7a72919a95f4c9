#include "sandbox/suite_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "core/check.h"
#include "sandbox/suite_check.h"

namespace forkpoint::sandbox {
namespace {

class CasePlayer {
 public:
  CasePlayer(Backend& backend, CaseStart start)
      : backend_(backend), base_(std::move(start.base)), current_(std::move(start.sandbox)) {
    named_[kMainSandbox] = current_;
  }

  // In what the step differs from what is expected of it.
  Differences play(const Step& step) {
    Differences differences;
    const Result<void> done = act(step, differences);
    if (!done) {
      if (done.error().code != step.expect.error) {
        differences.push_back(
            fmt::format("refused with '{}': {}", done.error().code, done.error().to_line()));
      }
    } else if (!step.expect.error.empty()) {
      differences.push_back(fmt::format("should be refused with '{}'", step.expect.error));
    }
    return differences;
  }

  // Ends every sandbox of the case.
  Result<void> close() {
    Result<void> closed = current_->close();
    for (auto& [name, sandbox] : named_) {
      if (sandbox == current_) continue;
      Result<void> one = sandbox->close();
      if (closed && !one) closed = std::move(one);
    }
    return closed;
  }

 private:
  // The step's calls in order, up to the first that is refused.
  Result<void> act(const Step& step, Differences& differences) {
    FORKPOINT_RETURN_IF_ERROR(move_to(step));
    if (step.acts()) {
      FORKPOINT_ASSIGN_OR_RETURN(const ExecResult result, call(step));
      differences = check_result(result, step.expect, current_->workspace());
    }
    for (const auto& [path, content] : step.write) {
      FORKPOINT_RETURN_IF_ERROR(current_->write_file(absolute_path(path, current_->workspace()), content));
    }
    SnapshotRef since = base_;
    if (!step.expect.changed_since.empty()) {
      FORKPOINT_ASSIGN_OR_RETURN(since, snapshot_named(step.expect.changed_since));
    }
    for (std::string& difference : check_files(*current_, step.expect, since)) {
      differences.push_back(std::move(difference));
    }
    if (!step.snapshot.empty()) {
      FORKPOINT_ASSIGN_OR_RETURN(snapshots_[step.snapshot], current_->snapshot());
    }
    return {};
  }

  Result<ExecResult> call(const Step& step) {
    return step.run ? current_->run(*step.run, step.options) : current_->exec(step.exec, step.options);
  }

  Result<void> move_to(const Step& step) {
    if (!step.in.empty()) {
      const auto found = named_.find(step.in);
      if (found == named_.end()) return never_made("sandbox", step.in);
      return go_on_in(found->second);
    }
    if (step.from.empty()) return {};
    FORKPOINT_ASSIGN_OR_RETURN(const SnapshotRef snapshot, snapshot_named(step.from));
    FORKPOINT_ASSIGN_OR_RETURN(std::shared_ptr<Sandbox> fork, backend_.fork(snapshot));
    if (!step.as.empty()) named_[step.as] = fork;
    return go_on_in(std::move(fork));
  }

  // Leaves the current sandbox; closes it where no later step can come back to it.
  Result<void> go_on_in(std::shared_ptr<Sandbox> next) {
    const std::shared_ptr<Sandbox> left = std::exchange(current_, std::move(next));
    for (const auto& [name, sandbox] : named_) {
      if (sandbox == left) return {};
    }
    return left->close();
  }

  Result<SnapshotRef> snapshot_named(const std::string& name) const {
    const auto found = snapshots_.find(name);
    if (found == snapshots_.end()) return never_made("snapshot", name);
    return found->second;
  }

  // The step that should have made it was refused, as its suite expected.
  static Error never_made(std::string_view what, const std::string& name) {
    return Error{.boundary = Boundary::sandbox,
                 .fault = Fault::input,
                 .code = "never_made",
                 .message = fmt::format("the {} '{}' was refused when it should be made", what, name)};
  }

  Backend& backend_;
  SnapshotRef base_;
  std::shared_ptr<Sandbox> current_;
  std::map<std::string, std::shared_ptr<Sandbox>> named_;
  std::map<std::string, SnapshotRef> snapshots_;
};

}  // namespace

std::optional<std::string> play_case(const Case& one, Backend& backend, CaseStart start) {
  FORKPOINT_CHECK(start.sandbox != nullptr, "a case is played in a sandbox");
  CasePlayer player(backend, std::move(start));
  std::optional<std::string> failure;
  for (std::size_t i = 0; i < one.steps.size() && !failure; ++i) {
    const Step& step = one.steps[i];
    for (int time = 1; time <= step.repeat && !failure; ++time) {
      const Differences differences = player.play(step);
      if (differences.empty()) continue;
      const std::string which = step.repeat == 1 ? "" : fmt::format(", time {}", time);
      failure =
          fmt::format("step {} ({}){}: {}", i + 1, step.in_words(), which, fmt::join(differences, "; "));
    }
  }
  const Result<void> closed = player.close();
  if (!closed && !failure) failure = fmt::format("closing the sandbox: {}", closed.error().to_line());
  return failure;
}

}  // namespace forkpoint::sandbox
