#include "sandbox/suite_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <regex>
#include <utility>

#include "core/json.h"
#include "core/utf8.h"

namespace forkpoint::sandbox {
namespace {

constexpr std::size_t kQuotedBytesMax = 300;
// The standard library's expressions recurse once per byte: a longer line could exhaust the stack.
constexpr std::size_t kMatchedBytesMax = 4096;

bool some_line_matches(std::string_view text, const std::regex& pattern) {
  while (true) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, std::min(end, kMatchedBytesMax));
    if (std::regex_search(line.begin(), line.end(), pattern)) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
    if (text.empty()) return false;
  }
}

void check_output(std::string_view name, const std::string& bytes, const OutputExpectation& expect,
                  Differences& differences) {
  if (expect.exact && bytes != *expect.exact) {
    const auto [at, unused] =
        std::mismatch(bytes.begin(), bytes.end(), expect.exact->begin(), expect.exact->end());
    differences.push_back(fmt::format("{} differs from byte {} on: expected {}, got {}", name,
                                      at - bytes.begin(), in_quotes(*expect.exact), in_quotes(bytes)));
  }
  for (const std::string& part : expect.contains) {
    if (bytes.find(part) == std::string::npos) {
      differences.push_back(
          fmt::format("{} should contain {}, got {}", name, in_quotes(part), in_quotes(bytes)));
    }
  }
  for (const std::string& part : expect.lacks) {
    if (bytes.find(part) != std::string::npos) {
      differences.push_back(
          fmt::format("{} should not contain {}, got {}", name, in_quotes(part), in_quotes(bytes)));
    }
  }
  for (const std::string& pattern : expect.matches) {
    if (!some_line_matches(bytes, std::regex(pattern))) {
      differences.push_back(
          fmt::format("{} should match {}, got {}", name, in_quotes(pattern), in_quotes(bytes)));
    }
  }
}

std::string end_in_words(const ExecResult& result) {
  std::string words = "no end";
  if (result.exit_code) words = fmt::format("exit code {}", *result.exit_code);
  if (result.signal) words = fmt::format("signal {}", *result.signal);
  if (result.timed_out) words += ", timed out";
  if (result.oom_killed) words += ", out of memory";
  if (result.limit) words += fmt::format(", limit {}", to_string(*result.limit));
  return words;
}

std::string limit_in_words(const std::optional<LimitKind>& limit) {
  return limit ? std::string(to_string(*limit)) : "none";
}

std::string yes_or_no(bool value) { return value ? "true" : "false"; }

void check_end(const ExecResult& result, const Expectation& expect, Differences& differences) {
  const std::size_t before = differences.size();
  const auto differ = [&](std::string_view what, const std::string& expected) {
    differences.push_back(fmt::format("expected {} {}, got {}", what, expected, end_in_words(result)));
  };
  const std::vector<int> success{0};
  if (expect.exit_codes || !expect.names_an_end()) {
    const std::vector<int>& codes = expect.exit_codes ? *expect.exit_codes : success;
    const bool accepted = codes.empty() || (result.exit_code && std::find(codes.begin(), codes.end(),
                                                                          *result.exit_code) != codes.end());
    if (!accepted) differ("exit code", fmt::format("{}", fmt::join(codes, " or ")));
  }
  if (expect.signal && result.signal != expect.signal) differ("signal", std::to_string(*expect.signal));
  if (expect.timed_out && result.timed_out != *expect.timed_out)
    differ("timed_out", yes_or_no(*expect.timed_out));
  if (expect.oom_killed && result.oom_killed != *expect.oom_killed) {
    differ("oom_killed", yes_or_no(*expect.oom_killed));
  }
  if (expect.limit && result.limit != *expect.limit) differ("limit", limit_in_words(*expect.limit));
  if (differences.size() == before) return;
  // The end of the output is where programs say what went wrong.
  const std::string bytes = result.output.text();
  const std::size_t shown = std::min(bytes.size(), kQuotedBytesMax);
  differences.push_back(fmt::format("its output ends with {}",
                                    in_quotes(std::string_view(bytes).substr(bytes.size() - shown))));
  if (result.error_output) {
    differences.push_back(fmt::format("its error output is {}", in_quotes(result.error_output->text())));
  }
}

// Whether parts[next...] can be found in the commands of different processes, those in use left out.
bool all_run(const std::vector<std::string>& parts, std::size_t next,
             const std::vector<BackgroundProcess>& processes, std::vector<bool>& in_use) {
  if (next == parts.size()) return true;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (in_use[i] || processes[i].command.find(parts[next]) == std::string::npos) continue;
    in_use[i] = true;
    if (all_run(parts, next + 1, processes, in_use)) return true;
    in_use[i] = false;
  }
  return false;
}

void check_background(const std::vector<BackgroundProcess>& processes, const Expectation& expect,
                      Differences& differences) {
  if (!expect.background_count) return;
  std::vector<bool> in_use(processes.size());
  if (processes.size() == *expect.background_count && all_run(expect.background, 0, processes, in_use))
    return;
  std::vector<std::string> commands;
  commands.reserve(processes.size());
  for (const BackgroundProcess& process : processes) commands.push_back(in_quotes(process.command));
  std::vector<std::string> expected;
  expected.reserve(expect.background.size());
  for (const std::string& part : expect.background) expected.push_back(in_quotes(part));
  differences.push_back(fmt::format("expected {} background processes [{}], got [{}]",
                                    *expect.background_count, fmt::join(expected, ", "),
                                    fmt::join(commands, ", ")));
}

// Whether a path is there, be it a link that leads nowhere: only the folder that it lies in can tell.
Result<bool> is_there(Sandbox& sandbox, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == 0 ? "/" : path.substr(0, slash);
  const Result<std::vector<FolderEntry>> entries = sandbox.list_folder(folder);
  if (!entries) {
    if (entries.error().fault == Fault::input) return false;  // no such folder: nothing in it
    return entries.error();
  }
  const std::string name = path.substr(slash + 1);
  return std::any_of(entries->begin(), entries->end(),
                     [&](const FolderEntry& entry) { return entry.name == name; });
}

std::string change_line(std::string_view kind, std::string_view path) {
  return fmt::format("{} {}", kind, path);
}

void check_changes(Sandbox& sandbox, const std::vector<std::string>& expected, const SnapshotRef& since,
                   Differences& differences) {
  const Result<std::vector<ChangedFile>> changed = sandbox.changed_files(since);
  if (!changed) {
    differences.push_back(fmt::format("the changed files can't be told: {}", changed.error().to_line()));
    return;
  }
  std::vector<std::string> lines;
  for (const ChangedFile& file : *changed) lines.push_back(change_line(to_string(file.kind), file.path));
  std::vector<std::string> expected_lines;
  for (const std::string& change : expected) {
    const std::size_t space = change.find(' ');
    expected_lines.push_back(
        change_line(change.substr(0, space), absolute_path(change.substr(space + 1), sandbox.workspace())));
  }
  std::sort(lines.begin(), lines.end());
  std::sort(expected_lines.begin(), expected_lines.end());
  if (lines == expected_lines) return;
  std::vector<std::string> missing;
  std::vector<std::string> surplus;
  std::set_difference(expected_lines.begin(), expected_lines.end(), lines.begin(), lines.end(),
                      std::back_inserter(missing));
  std::set_difference(lines.begin(), lines.end(), expected_lines.begin(), expected_lines.end(),
                      std::back_inserter(surplus));
  differences.push_back(fmt::format("changed files: missing {}, not expected {}",
                                    in_quotes(fmt::format("{}", fmt::join(missing, "; "))),
                                    in_quotes(fmt::format("{}", fmt::join(surplus, "; ")))));
}

}  // namespace

std::string in_quotes(std::string_view bytes) {
  std::string text = core::to_text(Json(core::to_utf8(bytes.substr(0, kQuotedBytesMax))));
  if (bytes.size() > kQuotedBytesMax)
    text += fmt::format(" and {} bytes more", bytes.size() - kQuotedBytesMax);
  return text;
}

std::string absolute_path(std::string_view path, std::string_view workspace) {
  if (path.starts_with('/')) return std::string(path);
  if (path == ".") return std::string(workspace);
  return fmt::format("{}/{}", workspace, path);
}

Differences check_result(const ExecResult& result, const Expectation& expect, std::string_view workspace) {
  Differences differences;
  check_end(result, expect, differences);
  check_output("output", result.output.text(), expect.output, differences);
  if (result.error_output) {
    check_output("error output", result.error_output->text(), expect.error_output, differences);
  }
  if (expect.elided) {
    const bool elided =
        result.output.truncated() || (result.error_output && result.error_output->truncated());
    if (elided != *expect.elided) {
      differences.push_back(fmt::format("expected elided {}, and {} bytes of output were left out",
                                        yes_or_no(*expect.elided), result.output.bytes_left_out()));
    }
  }
  if (expect.cwd && result.cwd != absolute_path(*expect.cwd, workspace)) {
    differences.push_back(fmt::format(
        "expected cwd {}, got {}", in_quotes(absolute_path(*expect.cwd, workspace)), in_quotes(result.cwd)));
  }
  if (expect.state_saved && result.state_saved != *expect.state_saved) {
    differences.push_back(fmt::format("expected state_saved {}", yes_or_no(*expect.state_saved)));
  }
  check_background(result.background, expect, differences);
  return differences;
}

Differences check_files(Sandbox& sandbox, const Expectation& expect, const SnapshotRef& since) {
  Differences differences;
  const std::string workspace = sandbox.workspace();
  for (const auto& [path, content] : expect.files) {
    const Result<std::string> bytes = sandbox.read_file(absolute_path(path, workspace));
    if (!bytes) {
      differences.push_back(
          fmt::format("file {} can't be read: {}", in_quotes(path), bytes.error().to_line()));
    } else {
      OutputExpectation wanted;
      wanted.exact = content;
      check_output(fmt::format("file {}", in_quotes(path)), *bytes, wanted, differences);
    }
  }
  for (const std::string& path : expect.absent) {
    const Result<bool> there = is_there(sandbox, absolute_path(path, workspace));
    if (!there) {
      differences.push_back(
          fmt::format("whether {} is there can't be told: {}", in_quotes(path), there.error().to_line()));
    } else if (*there) {
      differences.push_back(fmt::format("{} should not be there", in_quotes(path)));
    }
  }
  for (const std::string& path : expect.unreadable) {
    const Result<std::string> bytes = sandbox.read_file(absolute_path(path, workspace));
    if (bytes) {
      differences.push_back(
          fmt::format("reading {} should be refused, got {}", in_quotes(path), in_quotes(*bytes)));
    } else if (bytes.error().fault != Fault::input) {
      differences.push_back(fmt::format("reading {} failed: {}", in_quotes(path), bytes.error().to_line()));
    }
  }
  if (expect.changed) check_changes(sandbox, *expect.changed, since, differences);
  return differences;
}

}  // namespace forkpoint::sandbox
