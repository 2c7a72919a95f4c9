// Running a suite: every case in a sandbox of its own.
//
//   FORKPOINT_ASSIGN_OR_RETURN(const Suite suite, load_suite("tests/sandbox/suites/shell.toml"));
//   const SuiteReport report = run_suite(suite, *backend, {.jobs = 4});
//   return report.count(CaseStatus::failed) == 0;
//
// Cases of one policy, one setup and the same programs start from one base state: it is made once,
// snapshotted, and forked for each. Where the state can't be forked (a persistent shell, or a host that lacks
// it), the setup runs for each case.
//
// A failure of the backend is a failed case, never a skipped one: what the host may lack is for `requires` to
// say. run_suite() may be called from several threads; it calls the backend from `jobs` threads at once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "sandbox/sandbox.h"
#include "sandbox/suite.h"

namespace forkpoint::sandbox {

enum class CaseStatus { passed, failed, skipped };
std::string_view to_string(CaseStatus status);

struct CaseResult {
  std::string name;
  CaseStatus status = CaseStatus::failed;
  std::string reason;  // of a failure or a skip; empty for what passed
  double wall_s = 0;
};

struct SuiteReport {
  std::string name;
  std::vector<CaseResult> cases;  // in the suite's order

  std::size_t count(CaseStatus status) const;
};

struct SuiteOptions {
  std::size_t jobs = 1;                    // cases at once, at least one
  std::vector<std::string> features = {};  // of kSuiteFeatures, those the host has; "fork" is found out
  std::function<void(const CaseResult&)> on_case =
      {};                           // as each case ends, in that order, one call at a time
  std::function<bool()> stop = {};  // true: what has not begun is skipped; called from any thread
  const core::Clock* clock = &core::system_clock();
};

SuiteReport run_suite(const Suite& suite, Backend& backend, const SuiteOptions& options = {});

}  // namespace forkpoint::sandbox
