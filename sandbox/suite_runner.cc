#include "sandbox/suite_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "core/check.h"
#include "core/thread_pool.h"
#include "sandbox/suite_base.h"
#include "sandbox/suite_case.h"

namespace forkpoint::sandbox {
namespace {

template <class T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// What every backend gives that has namespaces.
bool comes_with_namespaces(const std::string& feature) {
  return feature.starts_with("own_") || feature == "shared_memory";
}

// What of the case's requirements is not there; empty if nothing.
std::string lack_of(const Case& one, Level level, const SuiteOptions& options) {
  if (!one.requires_levels.empty() && !contains(one.requires_levels, level)) {
    std::vector<std::string_view> names;
    for (const Level required : one.requires_levels) names.push_back(to_string(required));
    return fmt::format("needs level {}, this is {}", fmt::join(names, " or "), to_string(level));
  }
  for (const std::string& feature : one.requires_features) {
    if (comes_with_namespaces(feature)) {
      if (level < Level::l2) return fmt::format("needs {}, which level {} lacks", feature, to_string(level));
      continue;
    }
    if (feature != "fork" && !contains(options.features, feature)) {
      return fmt::format("needs {}, which this host lacks", feature);
    }
  }
  return "";
}

class SuiteRun {
 public:
  SuiteRun(const Suite& suite, Backend& backend, const SuiteOptions& options)
      : suite_(suite), backend_(backend), options_(options), results_(suite.cases.size()) {
    for (const Case& one : suite.cases) {
      const auto found =
          std::find_if(bases_.begin(), bases_.end(),
                       [&](const std::unique_ptr<SuiteBase>& base) { return base->serves(one); });
      SuiteBase* base =
          found == bases_.end() ? bases_.emplace_back(std::make_unique<SuiteBase>(one)).get() : found->get();
      base->add_user();
      base_of_case_.push_back(base);
    }
  }

  void play(std::size_t index) {
    const Case& one = suite_.cases[index];
    CaseResult& result = results_[index];
    result.name = one.name;
    const auto start = options_.clock->now();
    if (options_.stop && options_.stop()) {
      result.status = CaseStatus::skipped;
      result.reason = "interrupted";
    } else {
      play(one, *base_of_case_[index], result);
    }
    base_of_case_[index]->release();
    result.wall_s = std::chrono::duration<double>(options_.clock->now() - start).count();
    if (!options_.on_case) return;
    const std::lock_guard lock(report_mutex_);
    options_.on_case(result);
  }

  std::vector<CaseResult> results() && { return std::move(results_); }

 private:
  void play(const Case& one, SuiteBase& base, CaseResult& result) {
    result.status = CaseStatus::skipped;
    result.reason = lack_of(one, backend_.level(), options_);
    if (!result.reason.empty()) return;

    CaseStart start;
    if (const std::optional<CaseObstacle> obstacle = base.start(one, backend_, start)) {
      result.status = obstacle->is_lack ? CaseStatus::skipped : CaseStatus::failed;
      result.reason = obstacle->reason;
      return;
    }
    const std::optional<std::string> failure = play_case(one, backend_, std::move(start));
    result.status = failure ? CaseStatus::failed : CaseStatus::passed;
    result.reason = failure.value_or("");
  }

  const Suite& suite_;
  Backend& backend_;
  const SuiteOptions& options_;
  std::vector<std::unique_ptr<SuiteBase>> bases_;
  std::vector<SuiteBase*> base_of_case_;
  std::vector<CaseResult> results_;
  std::mutex report_mutex_;
};

}  // namespace

std::string_view to_string(CaseStatus status) {
  switch (status) {
    case CaseStatus::passed: return "passed";
    case CaseStatus::failed: return "failed";
    case CaseStatus::skipped: return "skipped";
  }
  FORKPOINT_UNREACHABLE();
}

std::size_t SuiteReport::count(CaseStatus status) const {
  return static_cast<std::size_t>(
      std::count_if(cases.begin(), cases.end(), [&](const CaseResult& one) { return one.status == status; }));
}

SuiteReport run_suite(const Suite& suite, Backend& backend, const SuiteOptions& options) {
  FORKPOINT_CHECK(options.jobs >= 1, "a suite runs with at least one job");
  SuiteRun run(suite, backend, options);
  if (options.jobs == 1) {
    for (std::size_t i = 0; i < suite.cases.size(); ++i) run.play(i);
  } else {
    core::ThreadPool pool(options.jobs - 1);  // the calling thread takes part
    pool.parallel_for(suite.cases.size(), [&run](std::size_t i) { run.play(i); });
  }
  return SuiteReport{.name = suite.name, .cases = std::move(run).results()};
}

}  // namespace forkpoint::sandbox
