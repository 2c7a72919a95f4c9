#include "cli/sandbox_options.h"

#include <charconv>
#include <vector>

#include "sandbox/quantity.h"

namespace forkpoint::cli {
namespace {

using sandbox::Level;

Error bad_option(std::string_view option, std::string message) {
  return {.boundary = Boundary::config,
          .fault = Fault::input,
          .code = "bad_usage",
          .message = std::string(option) + " " + std::move(message)};
}

Result<void> read_bytes(std::string_view option, const std::string& text, std::uint64_t& value) {
  if (text.empty()) return {};
  FORKPOINT_ASSIGN_OR_RETURN(value, sandbox::parse_bytes(text).within(std::string(option)));
  return {};
}

Result<void> read_seconds(std::string_view option, const std::string& text, double& value) {
  if (text.empty()) return {};
  FORKPOINT_ASSIGN_OR_RETURN(value, sandbox::parse_seconds(text).within(std::string(option)));
  return {};
}

template <class T>
Result<void> read_number(std::string_view option, const std::string& text, T& value) {
  if (text.empty()) return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return bad_option(option, "must be a number, not '" + text + "'");
  return {};
}

template <class T>
Result<void> read_choice(std::string_view option, const std::string& text,
                         const std::vector<std::pair<std::string, T>>& choices, T& value) {
  std::string known;
  for (const auto& [name, choice] : choices) {
    if (name == text) {
      value = choice;
      return {};
    }
    known += (known.empty() ? "" : ", ") + name;
  }
  return bad_option(option, "must be one of " + known + ", not '" + text + "'");
}

}  // namespace

void LevelOption::add_to(CLI::App& app) {
  app.add_option(
      "--level", level_,
      "Isolation level to use: L1 (weak: Landlock, forks are copies), L2 or L3; default: the strongest there "
      "is, L2 at least");
}

Result<Level> LevelOption::level_min() const {
  Level level = Level::l2;
  if (level_.empty()) return level;
  FORKPOINT_RETURN_IF_ERROR(read_choice<Level>(
      "--level", level_, {{"L1", Level::l1}, {"L2", Level::l2}, {"L3", Level::l3}}, level));
  return level;
}

Result<std::shared_ptr<sandbox::LocalBackend>> LevelOption::start_backend() const {
  FORKPOINT_ASSIGN_OR_RETURN(const Level level, level_min());
  return sandbox::LocalBackend::start(
      {.level_max = level_.empty() ? Level::l3 : level, .programs = {}, .state = {}});
}

void SandboxOptions::add_to(CLI::App& app) {
  app.add_option("--image", image_, "Root file system: host, a folder, oci:FOLDER or archive:FILE");
  app.add_option("--workspace", workspace_, "Folder that appears as /workspace; it is never written to");
  app.add_option("--memory", memory_, "Memory of all processes together, as 256M");
  app.add_option("--pids", pids_, "Processes and threads at once");
  app.add_option("--cpus", cpus_, "Processors' worth of time, as 0.5");
  app.add_option("--disk", disk_, "What may be written, as 1G");
  app.add_option("--wall", wall_, "Time limit of an action, as 10s");
  app.add_option("--cpu-time", cpu_time_, "Processor time of an action, as 60s");
  app.add_option("--open-files", open_files_, "Open files of a process");
  app.add_option("--file-size", file_size_, "Size of a file, as 1G");
  app.add_option("--output", output_, "Bytes of an action's output that are kept, as 64K");
  app.add_option("--network", network_, "none (loopback only) or host");
  app.add_option("--shell", shell_, "fresh (state restored and saved, can be forked) or persistent");
  level_.add_to(app);
}

Result<sandbox::SandboxPolicy> SandboxOptions::policy() const {
  sandbox::SandboxPolicy policy{.image = image_, .workspace = workspace_, .limits = {}};
  sandbox::Limits& limits = policy.limits;
  FORKPOINT_RETURN_IF_ERROR(read_bytes("--memory", memory_, limits.memory_bytes_max));
  FORKPOINT_RETURN_IF_ERROR(read_bytes("--disk", disk_, limits.disk_bytes_max));
  FORKPOINT_RETURN_IF_ERROR(read_bytes("--file-size", file_size_, limits.file_size_bytes_max));
  FORKPOINT_RETURN_IF_ERROR(read_bytes("--output", output_, limits.output_bytes_max));
  FORKPOINT_RETURN_IF_ERROR(read_seconds("--wall", wall_, limits.wall_s_max));
  FORKPOINT_RETURN_IF_ERROR(read_seconds("--cpu-time", cpu_time_, limits.cpu_time_s_max));
  FORKPOINT_RETURN_IF_ERROR(read_number("--pids", pids_, limits.pids_max));
  FORKPOINT_RETURN_IF_ERROR(read_number("--open-files", open_files_, limits.open_files_max));
  FORKPOINT_RETURN_IF_ERROR(read_number("--cpus", cpus_, limits.cpus_max));
  FORKPOINT_RETURN_IF_ERROR(read_choice<sandbox::Network>(
      "--network", network_, {{"none", sandbox::Network::none}, {"host", sandbox::Network::host}},
      policy.network));
  FORKPOINT_RETURN_IF_ERROR(read_choice<sandbox::ShellMode>(
      "--shell", shell_,
      {{"fresh", sandbox::ShellMode::fresh}, {"persistent", sandbox::ShellMode::persistent}}, policy.shell));
  FORKPOINT_ASSIGN_OR_RETURN(policy.level_min, level_.level_min());
  FORKPOINT_RETURN_IF_ERROR(sandbox::check_policy(policy));
  return policy;
}

}  // namespace forkpoint::cli
