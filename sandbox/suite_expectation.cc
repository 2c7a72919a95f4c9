#include "sandbox/suite_expectation.h"

#include <fmt/format.h>

#include <limits>
#include <regex>
#include <string>
#include <string_view>
#include <utility>

#include "sandbox/changed_files.h"

namespace forkpoint::sandbox {
namespace {

using core::TomlFields;
using core::TomlNode;

Result<std::vector<int>> read_exit_codes(const TomlNode& node) {
  if (node.is_text()) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::string text, node.text());
    if (text == "any") return std::vector<int>{};
  }
  std::vector<TomlNode> nodes{node};
  if (node.is_list()) {
    FORKPOINT_ASSIGN_OR_RETURN(nodes, node.list());
    if (nodes.empty()) return node.bad_value("must not be empty", "\"any\" accepts every end");
  }
  std::vector<int> codes;
  for (const TomlNode& element : nodes) {
    if (!element.is_integer()) return element.wrong_type("an exit code, a list of them, or \"any\"");
    FORKPOINT_ASSIGN_OR_RETURN(const std::int64_t code, element.integer(0, 255));
    codes.push_back(static_cast<int>(code));
  }
  return codes;
}

Result<std::optional<LimitKind>> read_limit(const TomlNode& node) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::string name, node.text());
  if (name == "none") return std::optional<LimitKind>();
  const std::optional<LimitKind> limit = limit_from_string(name);
  if (limit) return limit;
  return node.bad_value(
      fmt::format("must be wall, cpu_time, memory, pids, output, disk, open_files, file_size or "
                  "none, not '{}'",
                  name));
}

std::optional<unsigned> digit_of(char character) {
  if (character >= '0' && character <= '9') return static_cast<unsigned>(character - '0');
  if (character >= 'a' && character <= 'f') return static_cast<unsigned>(character - 'a' + 10);
  if (character >= 'A' && character <= 'F') return static_cast<unsigned>(character - 'A' + 10);
  return std::nullopt;
}

// Pairs of digits; white space between them is for the reader.
Result<std::string> read_hex(const TomlNode& node) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::string text, node.text());
  std::string bytes;
  std::optional<unsigned> high;
  for (const char character : text) {
    if (!high && (character == ' ' || character == '\n')) continue;
    const std::optional<unsigned> digit = digit_of(character);
    if (!digit) return node.bad_value(fmt::format("must be pairs of hexadecimal digits, not '{}'", text));
    if (high) bytes += static_cast<char>(*high << 4 | *digit);
    high = high ? std::nullopt : digit;
  }
  if (high) return node.bad_value(fmt::format("must be pairs of hexadecimal digits, not '{}'", text));
  return bytes;
}

Result<std::vector<std::string>> read_patterns(const TomlNode& node) {
  FORKPOINT_ASSIGN_OR_RETURN(std::vector<std::string> patterns, node.texts());
  for (const std::string& pattern : patterns) {
    try {
      const std::regex compiled(pattern);
    } catch (const std::regex_error& error) {
      return node.bad_value(fmt::format("has no regular expression in '{}': {}", pattern, error.what()));
    }
  }
  return patterns;
}

// "added /workspace/x": a kind of change and a path.
Result<std::vector<std::string>> read_changes(const TomlNode& node) {
  FORKPOINT_ASSIGN_OR_RETURN(std::vector<std::string> changes, node.texts());
  for (const std::string& change : changes) {
    const std::string_view kind = std::string_view(change).substr(0, change.find(' '));
    bool known = false;
    for (const ChangeKind one :
         {ChangeKind::added, ChangeKind::modified, ChangeKind::deleted, ChangeKind::mode}) {
      known = known || to_string(one) == kind;
    }
    if (!known || kind.size() + 1 >= change.size()) {
      return node.bad_value(
          fmt::format("must hold \"added PATH\", \"modified PATH\", \"deleted PATH\" or \"mode "
                      "PATH\", not '{}'",
                      change));
    }
  }
  return changes;
}

void read_output(TomlFields& fields, const std::string& name, OutputExpectation& output) {
  const auto texts = [](const TomlNode& node) { return node.texts(); };
  std::optional<std::string> hex;
  fields.read(name, output.exact, [](const TomlNode& node) { return node.text(); });
  fields.read(name + "_hex", hex, read_hex);
  fields.read(name + "_contains", output.contains, texts);
  fields.read(name + "_lacks", output.lacks, texts);
  fields.read(name + "_matches", output.matches, read_patterns);
  if (!hex) return;
  if (output.exact) {
    const std::optional<TomlNode> node = fields.find(name + "_hex");
    fields.keep(node->position(), node->bad_value(fmt::format("can't stand beside '{}'", name)));
  }
  output.exact = std::move(hex);
}

void read_background(TomlFields& fields, Expectation& expect) {
  const std::optional<TomlNode> node = fields.find("background");
  if (!node) return;
  if (node->is_integer()) {
    fields.read("background", expect.background_count, [](const TomlNode& count) -> Result<std::size_t> {
      FORKPOINT_ASSIGN_OR_RETURN(const std::int64_t value,
                                 count.integer(0, std::numeric_limits<std::int32_t>::max()));
      return static_cast<std::size_t>(value);
    });
    return;
  }
  fields.read("background", expect.background, [](const TomlNode& texts) -> Result<std::vector<std::string>> {
    if (!texts.is_list()) return texts.wrong_type("a count, or a list of parts of commands");
    return texts.texts();
  });
  expect.background_count = expect.background.size();
}

// Keys that speak of what only a command or a program has, or only one whose streams are apart.
void check_that_it_can_be_said(TomlFields& fields, const Step& step) {
  static constexpr std::string_view kOfActions[] = {
      "exit_code", "signal",     "timed_out",       "oom_killed",   "limit",
      "output",    "output_hex", "output_contains", "output_lacks", "output_matches",
      "elided",    "cwd",        "state_saved",     "background"};
  static constexpr std::string_view kOfSeparate[] = {"error_output", "error_output_hex",
                                                     "error_output_contains", "error_output_lacks",
                                                     "error_output_matches"};
  const auto refuse = [&fields](std::string_view key, std::string_view what) {
    const std::optional<TomlNode> node = fields.find(key);
    if (node) fields.keep(node->position(), node->bad_value(what));
  };
  for (const std::string_view key : kOfActions) {
    if (!step.acts()) refuse(key, "needs a step with 'run' or 'exec'");
  }
  for (const std::string_view key : kOfSeparate) {
    if (!step.options.separate_output) refuse(key, "needs 'separate = true' in the step");
  }
  if (!fields.find("changed")) refuse("changed_since", "needs 'changed'");
}

}  // namespace

Result<Expectation> read_expectation(const TomlNode& node, const Step& step) {
  const auto text = [](const TomlNode& value) { return value.text(); };
  const auto texts = [](const TomlNode& value) { return value.texts(); };
  const auto boolean = [](const TomlNode& value) { return value.boolean(); };
  Expectation expect;
  TomlFields fields(node);
  fields.read("error", expect.error, text);
  fields.read("exit_code", expect.exit_codes, read_exit_codes);
  fields.read("signal", expect.signal, [](const TomlNode& value) -> Result<int> {
    FORKPOINT_ASSIGN_OR_RETURN(const std::int64_t number, value.integer(1, 64));
    return static_cast<int>(number);
  });
  fields.read("timed_out", expect.timed_out, boolean);
  fields.read("oom_killed", expect.oom_killed, boolean);
  fields.read("limit", expect.limit, read_limit);
  read_output(fields, "output", expect.output);
  read_output(fields, "error_output", expect.error_output);
  fields.read("elided", expect.elided, boolean);
  fields.read("cwd", expect.cwd, text);
  fields.read("state_saved", expect.state_saved, boolean);
  read_background(fields, expect);
  fields.read("files", expect.files, [](const TomlNode& value) { return value.text_by_key(); });
  fields.read("absent", expect.absent, texts);
  fields.read("unreadable", expect.unreadable, texts);
  fields.read("changed", expect.changed, read_changes);
  fields.read("changed_since", expect.changed_since, text);
  check_that_it_can_be_said(fields, step);
  FORKPOINT_RETURN_IF_ERROR(std::move(fields).finish());
  return expect;
}

}  // namespace forkpoint::sandbox
