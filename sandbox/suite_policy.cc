#include "sandbox/suite_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/nearest.h"
#include "sandbox/quantity.h"

namespace forkpoint::sandbox {
namespace {

using core::TomlFields;
using core::TomlNode;

constexpr std::int64_t kCountMax = std::numeric_limits<std::int64_t>::max();

template <class T>
using Names = std::vector<std::pair<std::string, T>>;

template <class T>
Result<T> read_choice(const TomlNode& node, const Names<T>& options) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::string text, node.text());
  std::vector<std::string> names;
  for (const auto& [name, value] : options) {
    if (name == text) return value;
    names.push_back(name);
  }
  const std::optional<std::string> meant = core::nearest(text, names);
  return node.bad_value(fmt::format("must be one of {}, not '{}'", fmt::join(names, ", "), text),
                        meant ? fmt::format("did you mean '{}'?", *meant) : "");
}

Result<Level> read_level(const TomlNode& node) {
  return read_choice(node, Names<Level>{{"L1", Level::l1}, {"L2", Level::l2}, {"L3", Level::l3}});
}

Result<std::int64_t> read_count(const TomlNode& node) { return node.integer(0, kCountMax); }

std::string beside(const std::filesystem::path& folder, const std::string& path) {
  return (folder / path).lexically_normal().native();
}

// "host" and absolute paths as they are; what follows "oci:" or "archive:" is a path like any other.
std::string read_image(const std::string& image, const std::filesystem::path& folder) {
  if (image == "host") return image;
  for (const std::string_view prefix : {"oci:", "archive:"}) {
    if (image.starts_with(prefix)) {
      return std::string(prefix) + beside(folder, image.substr(prefix.size()));
    }
  }
  return beside(folder, image);
}

void read_limits(TomlFields& fields, Limits& limits) {
  fields.read("memory", limits.memory_bytes_max, read_bytes);
  fields.read("pids", limits.pids_max, read_count);
  fields.read("cpus", limits.cpus_max, [](const TomlNode& node) { return node.number(); });
  fields.read("disk", limits.disk_bytes_max, read_bytes);
  fields.read("wall", limits.wall_s_max, read_seconds);
  fields.read("cpu_time", limits.cpu_time_s_max, read_seconds);
  fields.read("open_files", limits.open_files_max, read_count);
  fields.read("file_size", limits.file_size_bytes_max, read_bytes);
  fields.read("output", limits.output_bytes_max, read_bytes);
}

// A parser's verdict on the text of a quantity, with the place put before it.
template <class T>
Result<T> at_node(const TomlNode& node, Result<T> parsed) {
  if (parsed) return parsed;
  return node.bad_value(parsed.error().message);
}

}  // namespace

Result<std::uint64_t> read_bytes(const TomlNode& node) {
  if (const auto* bytes = std::get_if<std::int64_t>(&node.value().value)) {
    return at_node(node, parse_bytes(std::to_string(*bytes)));
  }
  if (!node.is_text()) return node.wrong_type("a number of bytes or text such as \"256M\"");
  FORKPOINT_ASSIGN_OR_RETURN(const std::string text, node.text());
  return at_node(node, parse_bytes(text));
}

Result<double> read_seconds(const TomlNode& node) {
  if (node.is_number()) {
    // As text, which has one rule for what is negative, not finite or too large.
    FORKPOINT_ASSIGN_OR_RETURN(const double seconds, node.number());
    return at_node(node, parse_seconds(fmt::format("{}", seconds)));
  }
  if (!node.is_text()) return node.wrong_type("a number of seconds or text such as \"10s\"");
  FORKPOINT_ASSIGN_OR_RETURN(const std::string text, node.text());
  return at_node(node, parse_seconds(text));
}

Result<SandboxPolicy> read_policy(const TomlNode& node, SandboxPolicy policy,
                                  const std::filesystem::path& folder) {
  const auto text = [](const TomlNode& value) { return value.text(); };
  TomlFields fields(node);
  std::optional<std::string> image;
  std::optional<std::string> workspace;
  fields.read("image", image, text);
  fields.read("workspace", workspace, text);
  if (image) policy.image = read_image(*image, folder);
  if (workspace) policy.workspace = workspace->empty() ? "" : beside(folder, *workspace);
  read_limits(fields, policy.limits);
  fields.read("network", policy.network, [](const TomlNode& value) {
    return read_choice(value, Names<Network>{{"none", Network::none}, {"host", Network::host}});
  });
  fields.read("shell", policy.shell, [](const TomlNode& value) {
    return read_choice(value,
                       Names<ShellMode>{{"fresh", ShellMode::fresh}, {"persistent", ShellMode::persistent}});
  });
  fields.read("level_min", policy.level_min, read_level);
  fields.read("hostname", policy.hostname, text);
  fields.read("env", policy.environment, [](const TomlNode& value) { return value.text_by_key(); });
  FORKPOINT_RETURN_IF_ERROR(std::move(fields).finish());
  return policy;
}

}  // namespace forkpoint::sandbox
