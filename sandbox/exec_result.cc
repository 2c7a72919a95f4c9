#include "sandbox/exec_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base64.h"
#include "core/check.h"
#include "core/utf8.h"

namespace forkpoint::sandbox {
namespace {

constexpr std::array kLimits = {LimitKind::wall,       LimitKind::cpu_time, LimitKind::memory,
                                LimitKind::pids,       LimitKind::output,   LimitKind::disk,
                                LimitKind::open_files, LimitKind::file_size};

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const BackgroundProcess& process) {
  return Json{{"pid", process.pid}, {"command", core::to_utf8(process.command)}};
}

// "NAME": the text, and "NAME_base64" where the text can't hold all of it.
void add_stream(Json& json, const std::string& name, const std::string& bytes) {
  json[name] = core::to_utf8(bytes);
  if (!core::is_utf8(bytes)) json[name + "_base64"] = core::to_base64(bytes);
}

}  // namespace

std::string_view to_string(LimitKind limit) {
  switch (limit) {
    case LimitKind::wall: return "wall";
    case LimitKind::cpu_time: return "cpu_time";
    case LimitKind::memory: return "memory";
    case LimitKind::pids: return "pids";
    case LimitKind::output: return "output";
    case LimitKind::disk: return "disk";
    case LimitKind::open_files: return "open_files";
    case LimitKind::file_size: return "file_size";
  }
  FORKPOINT_UNREACHABLE();
}

std::optional<LimitKind> limit_from_string(std::string_view name) {
  const auto found =
      std::find_if(kLimits.begin(), kLimits.end(), [&](LimitKind limit) { return to_string(limit) == name; });
  if (found == kLimits.end()) return std::nullopt;
  return *found;
}

std::string CapturedOutput::text() const {
  if (!truncated()) return head + tail;
  const std::string_view line_end = head.empty() || head.ends_with('\n') ? "" : "\n";
  return fmt::format("{}{}[... {} bytes left out ...]\n{}", head, line_end, bytes_left_out(), tail);
}

int ExecResult::shell_status() const {
  if (timed_out) return 124;
  if (signal) return 128 + *signal;
  FORKPOINT_CHECK(exit_code.has_value(), "an action that ended has an exit code or a signal");
  return *exit_code & 255;
}

Json to_json(const ExecResult& result) {
  Json json;
  json["exit_code"] = or_null(result.exit_code);
  json["signal"] = or_null(result.signal);
  json["timed_out"] = result.timed_out;
  json["oom_killed"] = result.oom_killed;
  json["limit"] = result.limit ? Json(to_string(*result.limit)) : Json(nullptr);

  const std::string output = result.output.text();
  add_stream(json, "output", output);
  // The numbers are of the whole action: whoever reads that nothing was left out may rely on it for both
  // streams.
  std::uint64_t bytes_total = result.output.bytes_total;
  std::uint64_t bytes_left_out = result.output.bytes_left_out();
  if (result.error_output) {
    add_stream(json, "stdout", output);
    add_stream(json, "stderr", result.error_output->text());
    bytes_total += result.error_output->bytes_total;
    bytes_left_out += result.error_output->bytes_left_out();
  }
  json["output_bytes_total"] = bytes_total;
  json["output_elided_chars"] = bytes_left_out;

  json["wall_ms"] = result.wall_ms;
  json["cpu_ms"] = result.cpu_ms;
  json["memory_peak_bytes"] = result.memory_peak_bytes;
  json["cwd"] = core::to_utf8(result.cwd);
  json["state_saved"] = result.state_saved;
  json["background"] = Json::array();
  for (const BackgroundProcess& process : result.background) json["background"].push_back(to_json(process));
  json["error"] =
      nullptr;  // an action that came to a result has none; callers write the object of those that failed
  return json;
}

}  // namespace forkpoint::sandbox
