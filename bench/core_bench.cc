// What core/ costs against the plain way to do the same.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/hash.h"
#include "core/json.h"
#include "core/metrics.h"
#include "core/ratio.h"
#include "core/rng.h"
#include "core/temp_dir.h"

namespace forkpoint::bench {
using core::measure_ratio;
using core::RatioOptions;
using core::RatioRow;
using core::to_table;
namespace {

RatioRow uniform_numbers(const RatioOptions& options) {
  constexpr int kCount = 10'000;
  core::RngStream stream({.seed = 7, .purpose = "bench"});
  std::mt19937_64 twister(7);
  return measure_ratio({"RngStream::uniform x 10000",
                        [&] {
                          double sum = 0;
                          for (int i = 0; i < kCount; ++i) sum += stream.uniform();
                          benchmark::DoNotOptimize(sum);
                        }},
                       {"mt19937_64 + generate_canonical",
                        [&] {
                          double sum = 0;
                          for (int i = 0; i < kCount; ++i)
                            sum += std::generate_canonical<double, 53>(twister);
                          benchmark::DoNotOptimize(sum);
                        }},
                       options);
}

RatioRow hash_of_a_megabyte(const RatioOptions& options) {
  const std::string bytes(1'000'000, 'x');
  return measure_ratio({"xxh3_128 of 1 MB", [&] { benchmark::DoNotOptimize(core::xxh3_128(bytes)); }},
                       {"sha256", [&] { benchmark::DoNotOptimize(core::sha256(bytes)); }}, options);
}

// Checking names, making JSON, and the guarantee against kill -9, over writing ready bytes with the same
// guarantee.
Result<RatioRow> metrics_record(const RatioOptions& options) {
  FORKPOINT_ASSIGN_OR_RETURN(const core::TempDir dir, core::TempDir::create("core-bench"));
  FORKPOINT_ASSIGN_OR_RETURN(
      core::MetricsWriter metrics,
      core::MetricsWriter::open(dir.path(), {.tensorboard = false}, core::system_clock()));
  const std::vector<core::Scalar> values = {{"actor/loss", 0.123456789},  {"actor/lr", 1e-6},
                                            {"actor/grad_norm", 1.5},     {"reward/pass_rate", 0.4375},
                                            {"timing_s/generate", 12.25}, {"perf/tokens_per_s", 1234.5}};
  Json object = {{"step", 12}, {"time", 1764547200.125}};
  for (const auto& [name, value] : values) object[name] = value;
  const std::string line = core::to_text(object) + '\n';
  std::ofstream plain(dir.path() / "plain.jsonl");
  constexpr int kRecords = 20;
  Result<void> recorded;
  RatioRow row = measure_ratio({"MetricsWriter::record x 20",
                                [&] {
                                  for (int i = 0; i < kRecords && recorded; ++i)
                                    recorded = metrics.record(12, values);
                                }},
                               {"write + flush of the same bytes",
                                [&] {
                                  for (int i = 0; i < kRecords; ++i) plain << line << std::flush;
                                }},
                               options);
  if (!recorded) return recorded.error();
  return row;
}

}  // namespace
}  // namespace forkpoint::bench

// usage: core_bench [--quick]
int main(int argc, char** argv) {    // NOLINT(bugprone-exception-escape): a benchmark may die of no memory
  using namespace forkpoint::bench;  // NOLINT(google-build-using-namespace)
  const RatioOptions options{.repeats = argc > 1 && argv[1] == std::string("--quick") ? 50 : 200};
  std::vector<RatioRow> rows = {uniform_numbers(options), hash_of_a_megabyte(options)};
  const auto recorded = metrics_record(options);
  if (!recorded) {
    std::fputs(fmt::format("core_bench: {}\n", recorded.error().to_line()).c_str(), stderr);
    return forkpoint::core::exit_code(recorded.error().fault);
  }
  rows.push_back(*recorded);
  std::fputs(to_table(rows).c_str(), stdout);
}
