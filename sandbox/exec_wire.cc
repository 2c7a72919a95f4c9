#include "sandbox/exec_wire.h"

#include "sandbox/wire.h"

namespace forkpoint::sandbox {
namespace {

void encode_output(Writer& body, const CapturedOutput& output) {
  body.text(output.head).text(output.tail).u64(output.bytes_total);
}

CapturedOutput decode_output(Reader& reader) {
  CapturedOutput output;
  output.head = reader.text();
  output.tail = reader.text();
  output.bytes_total = reader.u64();
  return output;
}

void encode_optional(Writer& body, const std::optional<int>& value) {
  body.boolean(value.has_value()).i64(value.value_or(0));
}

std::optional<int> decode_optional(Reader& reader) {
  const bool present = reader.boolean();
  const auto value = static_cast<int>(reader.i64());
  return present ? std::optional<int>(value) : std::nullopt;
}

void encode_texts(Writer& body, const std::vector<std::string>& texts) {
  body.u32(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) body.text(text);
}

std::vector<std::string> decode_texts(Reader& reader) {
  std::vector<std::string> texts(reader.count(sizeof(std::uint32_t)));
  for (std::string& text : texts) text = reader.text();
  return texts;
}

void encode_processes(Writer& body, const std::vector<BackgroundProcess>& processes) {
  body.u32(static_cast<std::uint32_t>(processes.size()));
  for (const BackgroundProcess& process : processes) body.i64(process.pid).text(process.command);
}

}  // namespace

void encode_map(Writer& body, const std::map<std::string, std::string>& map) {
  body.u32(static_cast<std::uint32_t>(map.size()));
  for (const auto& [key, value] : map) body.text(key).text(value);
}

std::map<std::string, std::string> decode_map(Reader& reader) {
  std::map<std::string, std::string> map;
  for (std::uint32_t left = reader.count(2 * sizeof(std::uint32_t)); left > 0; --left) {
    std::string key = reader.text();
    map[std::move(key)] = reader.text();
  }
  return map;
}

void encode_limits(Writer& body, const Limits& limits) {
  body.u64(limits.memory_bytes_max).i64(limits.pids_max).f64(limits.cpus_max).u64(limits.disk_bytes_max);
  body.f64(limits.wall_s_max).f64(limits.cpu_time_s_max).i64(limits.open_files_max);
  body.u64(limits.file_size_bytes_max).u64(limits.output_bytes_max);
}

Limits decode_limits(Reader& reader) {
  Limits limits;
  limits.memory_bytes_max = reader.u64();
  limits.pids_max = reader.i64();
  limits.cpus_max = reader.f64();
  limits.disk_bytes_max = reader.u64();
  limits.wall_s_max = reader.f64();
  limits.cpu_time_s_max = reader.f64();
  limits.open_files_max = reader.i64();
  limits.file_size_bytes_max = reader.u64();
  limits.output_bytes_max = reader.u64();
  return limits;
}

std::string encode(const ActionRequest& request) {
  Writer body;
  body.boolean(request.shell).text(request.command);
  encode_texts(body, request.arguments);
  body.text(request.stdin_bytes);
  encode_map(body, request.environment);
  body.text(request.cwd).f64(request.wall_s_max).f64(request.cpu_time_s_max);
  body.u64(request.output_bytes_max).boolean(request.separate_output);
  return body.take();
}

std::optional<ActionRequest> decode_action_request(std::string_view body) {
  Reader reader(body);
  ActionRequest request;
  request.shell = reader.boolean();
  request.command = reader.text();
  request.arguments = decode_texts(reader);
  request.stdin_bytes = reader.text();
  request.environment = decode_map(reader);
  request.cwd = reader.text();
  request.wall_s_max = reader.f64();
  request.cpu_time_s_max = reader.f64();
  request.output_bytes_max = reader.u64();
  request.separate_output = reader.boolean();
  if (!reader.complete()) return std::nullopt;
  return request;
}

std::string encode(const ExecResult& result) {
  Writer body;
  encode_optional(body, result.exit_code);
  encode_optional(body, result.signal);
  body.boolean(result.timed_out).boolean(result.oom_killed);
  encode_optional(body, result.limit ? std::optional<int>(static_cast<int>(*result.limit)) : std::nullopt);
  encode_output(body, result.output);
  body.boolean(result.error_output.has_value());
  encode_output(body, result.error_output.value_or(CapturedOutput{}));
  body.f64(result.wall_ms).f64(result.cpu_ms).u64(result.memory_peak_bytes);
  body.text(result.cwd).boolean(result.state_saved);
  encode_processes(body, result.background);
  return body.take();
}

std::optional<ExecResult> decode_exec_result(std::string_view body) {
  Reader reader(body);
  ExecResult result;
  result.exit_code = decode_optional(reader);
  result.signal = decode_optional(reader);
  result.timed_out = reader.boolean();
  result.oom_killed = reader.boolean();
  if (const auto limit = decode_optional(reader)) {
    if (*limit < 0 || *limit > static_cast<int>(LimitKind::file_size)) return std::nullopt;
    result.limit = static_cast<LimitKind>(*limit);
  }
  result.output = decode_output(reader);
  const bool separate = reader.boolean();
  CapturedOutput error_output = decode_output(reader);
  if (separate) result.error_output = std::move(error_output);
  result.wall_ms = reader.f64();
  result.cpu_ms = reader.f64();
  result.memory_peak_bytes = reader.u64();
  result.cwd = reader.text();
  result.state_saved = reader.boolean();
  result.background = decode_processes(reader);
  if (!reader.complete()) return std::nullopt;
  return result;
}

std::string encode(const std::vector<BackgroundProcess>& processes) {
  Writer body;
  encode_processes(body, processes);
  return body.take();
}

std::vector<BackgroundProcess> decode_processes(Reader& reader) {
  std::vector<BackgroundProcess> processes(reader.count(sizeof(std::int64_t) + sizeof(std::uint32_t)));
  for (BackgroundProcess& process : processes) {
    process.pid = reader.i64();
    process.command = reader.text();
  }
  return processes;
}

std::string encode(const InitStart& start) {
  Writer body;
  encode_limits(body, start.limits);
  body.u8(static_cast<std::uint8_t>(start.shell));
  encode_map(body, start.environment);
  body.text(start.workspace)
      .text(start.root)
      .text(start.root_before)
      .boolean(start.shared_user)
      .text(start.shm_folder)
      .text(start.channel_folder)
      .text(start.shell_state)
      .text(start.token);
  body.u64(start.disk_bytes_before);
  encode_texts(body, start.fds);
  return body.take();
}

std::optional<InitStart> decode_init_start(std::string_view body) {
  Reader reader(body);
  InitStart start;
  start.limits = decode_limits(reader);
  start.shell = static_cast<ShellMode>(reader.u8());
  start.environment = decode_map(reader);
  start.workspace = reader.text();
  start.root = reader.text();
  start.root_before = reader.text();
  start.shared_user = reader.boolean();
  start.shm_folder = reader.text();
  start.channel_folder = reader.text();
  start.shell_state = reader.text();
  start.token = reader.text();
  start.disk_bytes_before = reader.u64();
  start.fds = decode_texts(reader);
  if (!reader.complete()) return std::nullopt;
  return start;
}

}  // namespace forkpoint::sandbox
