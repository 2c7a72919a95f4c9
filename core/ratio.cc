#include "core/ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

#include "core/check.h"

namespace forkpoint::core {
namespace {

double timed_ms(const Contender& contender, const Clock& clock) {
  const Clock::SteadyTime start = clock.now();
  contender.run();
  const double ms = std::chrono::duration<double, std::milli>(clock.now() - start).count();
  if (contender.clean_up) contender.clean_up();
  return ms;
}

}  // namespace

RatioRow measure_ratio(const Contender& ours, const Contender& peer, const RatioOptions& options,
                       const Clock& clock) {
  FORKPOINT_CHECK(options.repeats > 0, "a ratio needs a measurement");
  for (int i = 0; i < options.warmups; ++i) {
    (void)timed_ms(ours, clock);
    (void)timed_ms(peer, clock);
  }
  std::vector<double> ours_ms;
  std::vector<double> peer_ms;
  for (int i = 0; i < options.repeats; ++i) {
    if (i % 2 == 0) {
      ours_ms.push_back(timed_ms(ours, clock));
      peer_ms.push_back(timed_ms(peer, clock));
    } else {
      peer_ms.push_back(timed_ms(peer, clock));
      ours_ms.push_back(timed_ms(ours, clock));
    }
  }
  RatioRow row{.what = ours.name,
               .ours_ms_p50 = quantile(ours_ms, 0.5),
               .ours_ms_p99 = quantile(ours_ms, 0.99),
               .peer = peer.name,
               .peer_ms_p50 = quantile(peer_ms, 0.5),
               .peer_ms_p99 = quantile(peer_ms, 0.99),
               .n = options.repeats};
  row.ratio = row.ours_ms_p50 / row.peer_ms_p50;
  return row;
}

double quantile(std::vector<double> values, double q) {
  FORKPOINT_CHECK(!values.empty() && q > 0 && q <= 1, "no such quantile");
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size()) - 1e-9));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

std::string to_table(std::span<const RatioRow> rows) {
  std::size_t what_width = 4;
  std::size_t peer_width = 4;
  for (const RatioRow& row : rows) {
    what_width = std::max(what_width, row.what.size());
    peer_width = std::max(peer_width, row.peer.size());
  }
  std::string table =
      fmt::format("{:<{}}  {:>10}  {:>10}  {:<{}}  {:>10}  {:>10}  {:>6}  {:>5}\n", "what", what_width,
                  "p50 ms", "p99 ms", "peer", peer_width, "p50 ms", "p99 ms", "ratio", "n");
  for (const RatioRow& row : rows) {
    table += fmt::format("{:<{}}  {:>10.4f}  {:>10.4f}  {:<{}}  {:>10.4f}  {:>10.4f}  {:>6.3f}  {:>5}\n",
                         row.what, what_width, row.ours_ms_p50, row.ours_ms_p99, row.peer, peer_width,
                         row.peer_ms_p50, row.peer_ms_p99, row.ratio, row.n);
  }
  return table;
}

}  // namespace forkpoint::core
