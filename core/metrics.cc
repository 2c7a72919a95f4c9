#include "core/metrics.h"

#include <fmt/format.h>

#include "core/check.h"
#include "core/config.h"
#include "core/file.h"
#include "core/json.h"
#include "core/metric_names.h"

namespace forkpoint::core {
namespace fs = std::filesystem;
namespace {

// The lines of an earlier run that stay: whole ones, of steps before `resume_step`.
Result<std::string> kept_lines(const std::string& text, const fs::path& path,
                               std::optional<std::int64_t> resume_step) {
  std::string kept;
  std::size_t line_number = 1;
  for (std::size_t start = 0; start < text.size(); ++line_number) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string::npos) break;  // torn by a kill
    const std::string_view line = std::string_view(text).substr(start, end + 1 - start);
    FORKPOINT_ASSIGN_OR_RETURN(const Json record, parse_json(line, path.native(), {}, line_number));
    const auto step = record.is_object() ? record.find("step") : record.end();
    if (step == record.end() || !step->is_number_integer()) {
      return Error{.boundary = Boundary::system,
                   .fault = Fault::input,
                   .code = "metrics_damaged",
                   .message = fmt::format("{}:{}: not a record with a step", path.native(), line_number),
                   .advice = "move the file away, or mend that line"};
    }
    if (!resume_step || step->get<std::int64_t>() < *resume_step) kept += line;
    start = end + 1;
  }
  return kept;
}

Result<void> mend_lines(const fs::path& path, std::optional<std::int64_t> resume_step) {
  if (!fs::exists(path)) return {};
  FORKPOINT_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  FORKPOINT_ASSIGN_OR_RETURN(const std::string kept, kept_lines(text, path, resume_step));
  if (kept.size() == text.size()) return {};
  return write_file(path, kept);
}

}  // namespace

void describe(ConfigFields& fields, MetricsOptions& options) {
  fields.boolean("tensorboard", options.tensorboard, "also write TensorBoard events");
}

Result<MetricsWriter> MetricsWriter::open(const fs::path& directory, const MetricsOptions& options,
                                          const Clock& clock, std::optional<std::int64_t> resume_step) {
  FORKPOINT_RETURN_IF_ERROR(make_folders(directory));
  const fs::path path = directory / "metrics.jsonl";
  FORKPOINT_RETURN_IF_ERROR(mend_lines(path, resume_step));
  FORKPOINT_ASSIGN_OR_RETURN(AppendFile lines, AppendFile::open(path));
  std::optional<EventWriter> events;
  if (options.tensorboard) {
    FORKPOINT_ASSIGN_OR_RETURN(events, EventWriter::create(directory, clock, resume_step));
  }
  return MetricsWriter(std::move(lines), std::move(events), clock);
}

Result<void> MetricsWriter::record(std::int64_t step, const std::vector<Scalar>& scalars) {
  const Clock::WallTime wall = clock_->wall_now();
  Json line = {{"step", step}, {"time", unix_seconds(wall)}};
  for (const auto& [name, value] : scalars) {
    FORKPOINT_CHECK(is_known_metric(name), "a metric that core/metric_names.cc does not know: " + name);
    line[name] = value;
  }
  FORKPOINT_RETURN_IF_ERROR(lines_.append(to_text(line) + '\n'));
  return events_ ? events_->add(step, wall, scalars) : Result<void>();
}

}  // namespace forkpoint::core
