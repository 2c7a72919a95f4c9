// Ratios: how long our way takes against a peer's, measured side by side.
//
//   std::vector<RatioRow> rows;
//   rows.push_back(measure_ratio({"xxh3_128 of 1 MB", [&] { benchmark::DoNotOptimize(xxh3_128(text)); }},
//                                {"sha256", [&] { benchmark::DoNotOptimize(sha256(text)); }}));
//   std::fputs(to_table(rows).c_str(), stdout);
//
// A ratio of two programs' separate runs says as much about the machine's mood as about the programs; here
// the two take turns in one run, and swap who goes first every time, so that what disturbs one disturbs
// both. Medians, because disturbances only ever add. Below 1 is faster than the peer.
//
// Single-threaded; the functions run on the caller's thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"

namespace forkpoint::core {

// One side. One call of `run` should take a microsecond or more: the clock itself takes some 30 ns.
struct Contender {
  std::string name;
  std::function<void()> run;
  std::function<void()> clean_up = {};  // after each call, untimed
};

struct RatioOptions {
  int repeats = 200;  // timed calls of each side; at least 50 for a number that is quoted, 100 for a p99
  int warmups = 5;    // calls of each side before that, untimed: caches, page faults, lazy set-up
};

struct RatioRow {
  std::string what;  // our side's name
  double ours_ms_p50 = 0;
  double ours_ms_p99 = 0;
  std::string peer;
  double peer_ms_p50 = 0;
  double peer_ms_p99 = 0;
  double ratio = 0;  // ours_ms_p50 / peer_ms_p50
  int n = 0;         // repeats
};

RatioRow measure_ratio(const Contender& ours, const Contender& peer, const RatioOptions& options = {},
                       const Clock& clock = system_clock());

// The smallest value that a share `q` (0 < q <= 1) of the values does not exceed; `values` must not be empty.
// (Nearest-rank quantile.)
double quantile(std::vector<double> values, double q);

// Aligned columns with a heading, a line per row.
std::string to_table(std::span<const RatioRow> rows);

}  // namespace forkpoint::core
