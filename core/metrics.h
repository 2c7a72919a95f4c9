// MetricsWriter: what a run measures, step by step, as JSON lines and as TensorBoard events.
//
//   FORKPOINT_ASSIGN_OR_RETURN(MetricsWriter metrics, MetricsWriter::open(run_directory, {},
//   system_clock())); FORKPOINT_RETURN_IF_ERROR(metrics.record(step, {{"reward/pass_rate", 0.4}, {"actor/lr",
//   1e-4}}));
//
// `metrics.jsonl` has one object a line: {"step":12,"time":1796120130.5,"reward/pass_rate":0.4,...}; numbers
// that JSON can't hold are null. What record() has returned from survives a kill -9.
//
// Movable, not copyable; not synchronized: one thread of a run records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/append_file.h"
#include "core/clock.h"
#include "core/event_writer.h"
#include "core/result.h"

namespace forkpoint::core {

class ConfigFields;

struct MetricsOptions {
  bool tensorboard = true;  // also write TensorBoard events
};
void describe(ConfigFields& fields, MetricsOptions& options);

class MetricsWriter {
 public:
  // Makes the directory where needed; a run that was there before is continued. What a kill left of a last
  // line is cut off. With `resume_step` the records of that step and later ones are dropped, so that a
  // resumed run that takes those steps again writes no step twice. Keeps a reference to `clock`. Errors:
  // `file_unwritable`, those of read_file(), and `metrics_damaged` when a whole line is no record of ours.
  static Result<MetricsWriter> open(const std::filesystem::path& directory, const MetricsOptions& options,
                                    const Clock& clock,
                                    std::optional<std::int64_t> resume_step = std::nullopt);

  // One step's values. A name that is not in core/metric_names.h is a mistake in our own code and stops the
  // program: a run must not write for days what no dashboard will find. Error: `file_unwritable`.
  Result<void> record(std::int64_t step, const std::vector<Scalar>& scalars);

 private:
  MetricsWriter(AppendFile lines, std::optional<EventWriter> events, const Clock& clock)
      : lines_(std::move(lines)), events_(std::move(events)), clock_(&clock) {}

  AppendFile lines_;
  std::optional<EventWriter> events_;
  const Clock* clock_;
};

}  // namespace forkpoint::core
