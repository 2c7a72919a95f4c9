#include "cli/sandbox_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "cli/sandbox_options.h"
#include "core/file.h"
#include "core/progress.h"
#include "sandbox/junit.h"
#include "sandbox/suite_runner.h"

namespace forkpoint::cli {
namespace {

using sandbox::CaseResult;
using sandbox::CaseStatus;
using sandbox::Suite;
using sandbox::SuiteReport;

class SandboxTest final : public Verb {
 public:
  VerbHelp help() const override {
    return {.path = "sandbox test",
            .summary = "Run suites of sandbox tests; exit code 1 if a case fails",
            .example = "forkpoint sandbox test tests/sandbox/suites/shell.toml --jobs 4 --junit report.xml"};
  }

  void add_options(CLI::App& app) override {
    app.add_option("suites", paths_, "Suites (docs/sandbox-suites.md says how they are written)")->required();
    app.add_option("--junit", junit_, "Write the results as JUnit XML to this file");
    app.add_option("--jobs", jobs_, "Cases at once; default: a case per processor")
        ->check(CLI::Range(1, 1024));
    level_.add_to(app);
  }

  Result<int> run(Output& output) override {
    std::vector<Suite> suites;
    std::size_t cases = 0;
    for (const std::string& path : paths_) {
      FORKPOINT_ASSIGN_OR_RETURN(Suite suite, sandbox::load_suite(path));
      cases += suite.cases.size();
      suites.push_back(std::move(suite));
    }
    FORKPOINT_ASSIGN_OR_RETURN(const auto backend, level_.start_backend());
    FORKPOINT_ASSIGN_OR_RETURN(const sandbox::Level level_min, level_.level_min());
    core::Progress progress("sandbox test", cases);
    sandbox::SuiteOptions options{.jobs =
                                      jobs_ > 0 ? jobs_ : std::max(1U, std::thread::hardware_concurrency())};
    for (const sandbox::MachineFeature& feature : backend->features()) {
      if (feature.name == "cgroups" && feature.ok) options.features.emplace_back("cgroup");
    }
    options.on_case = [&progress](const CaseResult& result) { progress.advance(1, result.name); };
    std::vector<SuiteReport> reports;
    for (Suite& suite : suites) {
      for (sandbox::Case& one : suite.cases) one.policy.level_min = std::min(one.policy.level_min, level_min);
      reports.push_back(sandbox::run_suite(suite, *backend, options));
    }
    progress.finish();
    if (!junit_.empty()) FORKPOINT_RETURN_IF_ERROR(core::write_file(junit_, sandbox::to_junit(reports)));
    return print(output, reports, to_string(backend->level()));
  }

 private:
  static int print(Output& output, const std::vector<SuiteReport>& reports, std::string_view level) {
    std::size_t counts[3] = {};
    Json cases = Json::array();
    std::string text;
    for (const SuiteReport& report : reports) {
      for (const CaseResult& result : report.cases) {
        ++counts[static_cast<int>(result.status)];
        const std::string name = report.name + ": " + result.name;
        cases.push_back({{"name", name}, {"status", to_string(result.status)}, {"reason", result.reason}});
        if (result.status != CaseStatus::passed) {
          text += fmt::format("{:<8}{}\n        {}\n", to_string(result.status), name, result.reason);
        }
      }
    }
    text +=
        fmt::format("{} passed, {} failed, {} skipped at level {}\n", counts[0], counts[1], counts[2], level);
    output.print({{"passed", counts[0]},
                  {"failed", counts[1]},
                  {"skipped", counts[2]},
                  {"level", level},
                  {"cases", cases}},
                 text);
    return counts[1] == 0 ? 0 : 1;
  }

  std::vector<std::string> paths_;
  std::string junit_;
  std::size_t jobs_ = 0;
  LevelOption level_;
};

}  // namespace

std::unique_ptr<Verb> make_sandbox_test() { return std::make_unique<SandboxTest>(); }

}  // namespace forkpoint::cli
