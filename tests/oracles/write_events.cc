// Writes the metrics that tensorboard_test.py expects. Usage: write_events DIRECTORY first|resumed
#include <cmath>
#include <cstdio>
#include <string>

#include "core/metrics.h"
#include "tests/support/fake_clock.h"

namespace forkpoint::core {
namespace {

Result<void> write(const std::string& directory, bool resumed) {
  const tests::FakeClock clock(resumed ? 2000 : 1000);
  const std::optional<std::int64_t> resume_step = resumed ? std::optional<std::int64_t>(3) : std::nullopt;
  FORKPOINT_ASSIGN_OR_RETURN(MetricsWriter metrics, MetricsWriter::open(directory, {}, clock, resume_step));
  const int first = resumed ? 3 : 1;
  const int last = resumed ? 5 : 4;
  for (int step = first; step <= last; ++step) {
    FORKPOINT_RETURN_IF_ERROR(metrics.record(
        step, {{"reward/pass_rate", step / 10.0 + (resumed ? 1 : 0)}, {"actor/lr", 1e-4 * step}}));
    if (step == 1) FORKPOINT_RETURN_IF_ERROR(metrics.record(step, {{"actor/loss", std::nan("")}}));
  }
  return {};
}

}  // namespace
}  // namespace forkpoint::core

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto written = forkpoint::core::write(argv[1], std::string(argv[2]) == "resumed");
  if (!written) std::fprintf(stderr, "%s\n", written.error().to_line().c_str());
  return written ? 0 : 1;
}
