#include "sandbox/policy.h"

#include <cmath>
#include <string_view>

#include "sandbox/failure.h"

namespace forkpoint::sandbox {
namespace {

// Beyond these no machine goes: such a number is a mistake.
constexpr double kBytesMax = 1e15;
constexpr double kSecondsMax = 3.2e7;  // a year
constexpr double kCountMax = 4e6;

Result<void> check_range(std::string_view name, double value, double min, double max) {
  if (std::isfinite(value) && value >= min && value <= max) return {};
  return input_error("bad_limit", "the limit '" + std::string(name) + "' can't be " + std::to_string(value),
                     "between " + std::to_string(min) + " and " + std::to_string(max));
}

Result<void> check_limits(const Limits& limits) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  // What a shell and its children need at least.
  FORKPOINT_RETURN_IF_ERROR(check_range("memory", number(limits.memory_bytes_max), 4 << 20, kBytesMax));
  FORKPOINT_RETURN_IF_ERROR(check_range("pids", number(limits.pids_max), 1, kCountMax));
  FORKPOINT_RETURN_IF_ERROR(check_range("cpus", limits.cpus_max, 0.01, 4096));
  FORKPOINT_RETURN_IF_ERROR(check_range("disk", number(limits.disk_bytes_max), 4096, kBytesMax));
  FORKPOINT_RETURN_IF_ERROR(check_range("wall", limits.wall_s_max, 0.001, kSecondsMax));
  FORKPOINT_RETURN_IF_ERROR(check_range("cpu_time", limits.cpu_time_s_max, 0.001, kSecondsMax));
  FORKPOINT_RETURN_IF_ERROR(check_range("open_files", number(limits.open_files_max), 8, kCountMax));
  FORKPOINT_RETURN_IF_ERROR(check_range("file_size", number(limits.file_size_bytes_max), 1, kBytesMax));
  return check_range("output", number(limits.output_bytes_max), 1, double{32 << 20});
}

bool is_variable_name(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace

Result<void> check_environment(const std::map<std::string, std::string>& environment) {
  for (const auto& [name, value] : environment) {
    if (!is_variable_name(name))
      return input_error("bad_policy", "'" + name + "' is no name for an environment variable");
    if (has_nul(value))
      return input_error("bad_policy", "the environment variable '" + name + "' contains a NUL byte");
  }
  return {};
}

Result<void> check_policy(const SandboxPolicy& policy) {
  FORKPOINT_RETURN_IF_ERROR(check_limits(policy.limits));
  FORKPOINT_RETURN_IF_ERROR(check_environment(policy.environment));
  if (has_nul(policy.image) || has_nul(policy.workspace) || policy.image.empty()) {
    return input_error("bad_policy",
                       "image and workspace must be names without NUL bytes, and the image not empty");
  }
  if (policy.hostname.empty() || policy.hostname.size() > 64 || has_nul(policy.hostname)) {
    return input_error("bad_policy", "a host name has 1 to 64 bytes");
  }
  return {};
}

}  // namespace forkpoint::sandbox
