#include "sandbox/suite_base.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "sandbox/suite_check.h"

namespace forkpoint::sandbox {
namespace {

CaseObstacle failure(std::string_view what, const Error& error) {
  return {.is_lack = false, .reason = fmt::format("{}: {}", what, error.to_line())};
}

// Whether the program is in the sandbox's PATH.
Result<bool> has_program(Sandbox& sandbox, const std::string& program) {
  FORKPOINT_ASSIGN_OR_RETURN(const ExecResult result,
                             sandbox.exec({"/bin/sh", "-c", "command -v \"$1\" >/dev/null", "sh", program}));
  return result.exit_code == 0;
}

// Runs what the case wants before its first step.
std::optional<CaseObstacle> set_up(Sandbox& sandbox, const Case& one) {
  for (const std::string& program : one.programs) {
    const Result<bool> found = has_program(sandbox, program);
    if (!found) return failure(fmt::format("looking for '{}'", program), found.error());
    if (!*found)
      return CaseObstacle{.is_lack = true, .reason = fmt::format("the image has no '{}'", program)};
  }
  for (const std::string& command : one.setup) {
    const std::string what = fmt::format("setup {}", in_quotes(command));
    const Result<ExecResult> result = sandbox.run(command);
    if (!result) return failure(what, result.error());
    const Differences differences = check_result(*result, Expectation{}, sandbox.workspace());
    if (!differences.empty()) {
      return CaseObstacle{.is_lack = false,
                          .reason = fmt::format("{}: {}", what, fmt::join(differences, "; "))};
    }
  }
  return std::nullopt;
}

// A sandbox after the case's setup; none where there is an obstacle.
std::optional<CaseObstacle> create(Backend& backend, const Case& one, std::unique_ptr<Sandbox>& sandbox) {
  Result<std::unique_ptr<Sandbox>> created = backend.create(one.policy);
  if (!created) return failure("creating a sandbox", created.error());
  const std::optional<CaseObstacle> obstacle = set_up(**created, one);
  if (!obstacle) {
    sandbox = std::move(*created);
    return std::nullopt;
  }
  const Result<void> closed = (*created)->close();
  return closed ? obstacle : failure(obstacle->reason + "; closing the sandbox", closed.error());
}

}  // namespace

bool SuiteBase::serves(const Case& one) const {
  return one.policy == like_.policy && one.setup == like_.setup && one.programs == like_.programs;
}

void SuiteBase::release() {
  SnapshotRef dropped;  // outside the lock: dropping a snapshot may take time
  const std::lock_guard lock(mutex_);
  if (--users_ == 0) dropped = std::move(snapshot_);
}

std::optional<CaseObstacle> SuiteBase::start(const Case& one, Backend& backend, CaseStart& start) {
  {
    const std::lock_guard lock(mutex_);
    if (!prepared_) prepare(backend);
    prepared_ = true;
    if (obstacle_) return obstacle_;
    start.base = snapshot_;
  }
  if (start.base != nullptr) {
    Result<std::unique_ptr<Sandbox>> fork = backend.fork(start.base);
    if (!fork) return failure("forking the base state", fork.error());
    start.sandbox = std::move(*fork);
    return std::nullopt;
  }
  const std::vector<std::string>& features = one.requires_features;
  if (std::find(features.begin(), features.end(), "fork") != features.end()) {
    return CaseObstacle{.is_lack = true, .reason = "needs fork: " + why_not_forkable_};
  }
  return create(backend, one, start.sandbox);
}

void SuiteBase::prepare(Backend& backend) {
  if (like_.policy.shell == ShellMode::persistent) {
    why_not_forkable_ = "a persistent shell can't be snapshotted";
    return;
  }
  std::unique_ptr<Sandbox> sandbox;
  obstacle_ = create(backend, like_, sandbox);
  if (obstacle_) return;
  Result<SnapshotRef> snapshot = sandbox->snapshot();
  if (snapshot) {
    snapshot_ = std::move(*snapshot);
  } else if (snapshot.error().fault == Fault::host) {
    why_not_forkable_ = snapshot.error().to_line();
  } else {
    obstacle_ = failure("snapshot of the base state", snapshot.error());
  }
  const Result<void> closed = sandbox->close();
  if (!closed && !obstacle_) obstacle_ = failure("closing the base sandbox", closed.error());
}

}  // namespace forkpoint::sandbox
