#include "cli/sandbox_bench.h"

#include <fmt/format.h>

#include "cli/sandbox_options.h"
#include "core/log.h"
#include "sandbox/bench.h"

namespace forkpoint::cli {
namespace {

using sandbox::BenchOptions;
using sandbox::BenchRow;

class SandboxBench final : public Verb {
 public:
  VerbHelp help() const override {
    return {.path = "sandbox bench",
            .summary =
                "Measure sandboxes against what else could do the work, in one run; exit code 1 if a bar is "
                "missed",
            .example = "forkpoint sandbox bench --quick"};
  }

  void add_options(CLI::App& app) override {
    app.add_flag("--quick", quick_,
                 "A tenth of the repeats and of the files: shows that it works, not how fast");
    level_.add_to(app);
  }

  Result<int> run(Output& output) override {
    FORKPOINT_ASSIGN_OR_RETURN(const auto backend, level_.start_backend());
    BenchOptions options;
    if (quick_) {
      options.repeats = 20;
      options.copy_repeats = 5;
      options.small_files = 100;
      options.large_files = 2000;
    }
    options.on_row = [](const std::string& name) { log_info("measuring: {}", name); };
    FORKPOINT_ASSIGN_OR_RETURN(const std::vector<BenchRow> rows, sandbox::run_bench(*backend, options));
    bool met = true;
    Json objects = Json::array();
    std::string text = fmt::format(
        "level {}, network namespace of its own, no pool\n{:<40}{:>10}{:>10}  {:<44}{:>10}{:>9}{:>8}\n",
        to_string(backend->level()), "ours", "p50 ms", "p99 ms", "peer", "p50 ms", "ratio", "bar");
    for (const BenchRow& row : rows) {
      met = met && !(row.bar && row.has_peer && row.ratio.ratio > *row.bar);
      objects.push_back(to_object(row));
      text += to_line(row);
    }
    output.print({{"rows", objects},
                  {"level", to_string(backend->level())},
                  {"network_namespace", true},
                  {"pool", false}},
                 text);
    return met || quick_ ? 0 : 1;
  }

 private:
  static Json to_object(const BenchRow& row) {
    const core::RatioRow& ratio = row.ratio;
    const auto or_null = [&row](double value) { return row.has_peer ? Json(value) : Json(nullptr); };
    return {{"what", ratio.what},
            {"ours_ms_p50", ratio.ours_ms_p50},
            {"ours_ms_p99", ratio.ours_ms_p99},
            {"peer", ratio.peer},
            {"peer_ms_p50", or_null(ratio.peer_ms_p50)},
            {"ratio", or_null(ratio.ratio)},
            {"bar", row.bar ? Json(*row.bar) : Json(nullptr)},
            {"n", ratio.n}};
  }

  static std::string to_line(const BenchRow& row) {
    const core::RatioRow& ratio = row.ratio;
    std::string line = fmt::format("{:<40}{:>10.2f}{:>10.2f}  {:<44}", ratio.what, ratio.ours_ms_p50,
                                   ratio.ours_ms_p99, ratio.peer.substr(0, 42));
    if (row.has_peer) line += fmt::format("{:>10.2f}{:>9.4f}", ratio.peer_ms_p50, ratio.ratio);
    if (row.has_peer && row.bar)
      line += fmt::format("{:>8.3f}{}", *row.bar, ratio.ratio > *row.bar ? "  MISSED" : "");
    return line + fmt::format("  n={}\n", ratio.n);
  }

  bool quick_ = false;
  LevelOption level_;
};

}  // namespace

std::unique_ptr<Verb> make_sandbox_bench() { return std::make_unique<SandboxBench>(); }

}  // namespace forkpoint::cli
