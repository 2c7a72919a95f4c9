// bench: how long sandboxes take on this machine, side by side with what else could do the work.
//
// Each row takes turns with its peer in one run (core/ratio.h). Rows whose peer is not installed have ours
// alone. Not to be run beside anything else.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/ratio.h"
#include "core/result.h"
#include "sandbox/sandbox.h"

namespace forkpoint::sandbox {

struct BenchOptions {
  int repeats = 200;       // of the rows that take milliseconds
  int copy_repeats = 50;   // of those whose peer copies a tree
  int small_files = 1000;  // of the two trees that are forked
  int large_files = 20000;
  int file_bytes = 25000;
  std::function<void(const std::string&)> on_row = {};  // as each begins
};

struct BenchRow {
  core::RatioRow ratio;
  bool has_peer = true;
  std::optional<double> bar;  // what the ratio must not exceed, where that was promised
};

Result<std::vector<BenchRow>> run_bench(Backend& backend, const BenchOptions& options);

}  // namespace forkpoint::sandbox
