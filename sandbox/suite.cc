#include "sandbox/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "core/config.h"
#include "core/nearest.h"
#include "core/toml.h"
#include "sandbox/suite_expectation.h"
#include "sandbox/suite_policy.h"

namespace forkpoint::sandbox {
namespace {

using core::TomlDocument;
using core::TomlFields;
using core::TomlNode;

constexpr std::int64_t kRepeatMax = 1000;

Result<std::string> read_text(const TomlNode& node) { return node.text(); }
Result<std::vector<std::string>> read_texts(const TomlNode& node) { return node.texts(); }

// A name that something can be called by.
Result<std::string> read_name(const TomlNode& node) {
  FORKPOINT_ASSIGN_OR_RETURN(std::string name, node.text());
  if (name.empty()) return node.bad_value("must not be empty");
  return name;
}

Error unknown_name(const TomlNode& node, std::string_view what, const std::string& name,
                   const std::vector<std::string>& known) {
  const std::optional<std::string> meant = core::nearest(name, known);
  return node.bad_value(fmt::format("names no {}: '{}'", what, name),
                        meant ? fmt::format("did you mean '{}'?", *meant) : "");
}

// The names that the steps of one case have given so far.
class NamesOfCase {
 public:
  void check(TomlFields& fields) {
    refer(fields, fields.find("from"), "snapshot of an earlier step", snapshots_);
    refer(fields, fields.find("in"), "sandbox of an earlier step", sandboxes_);
    give(fields, fields.find("as"), sandboxes_);
    if (const std::optional<TomlNode> expect = fields.find("expect")) {
      refer(fields, TomlFields(*expect).find("changed_since"), "snapshot of an earlier step", snapshots_);
    }
    give(fields, fields.find("snapshot"), snapshots_);
  }

 private:
  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  static void refer(TomlFields& fields, const std::optional<TomlNode>& node, std::string_view what,
                    const std::vector<std::string>& known) {
    if (!node || !node->is_text()) return;
    const std::string name = *node->text();
    if (!contains(known, name)) fields.keep(node->position(), unknown_name(*node, what, name, known));
  }

  static void give(TomlFields& fields, const std::optional<TomlNode>& node, std::vector<std::string>& known) {
    if (!node || !node->is_text()) return;
    const std::string name = *node->text();
    if (contains(known, name)) {
      fields.keep(node->position(), node->bad_value(fmt::format("gives the name '{}' a second time", name)));
    }
    known.push_back(name);
  }

  std::vector<std::string> snapshots_;
  std::vector<std::string> sandboxes_ = {kMainSandbox};
};

void read_options(TomlFields& fields, ExecOptions& options) {
  fields.read("stdin", options.stdin_bytes, read_text);
  fields.read("env", options.environment, [](const TomlNode& node) { return node.text_by_key(); });
  fields.read("cwd", options.cwd, read_text);
  fields.read("wall", options.wall_s_max, read_seconds);
  fields.read("cpu_time", options.cpu_time_s_max, read_seconds);
  fields.read("output_cap", options.output_bytes_max, read_bytes);
  fields.read("separate", options.separate_output, [](const TomlNode& node) { return node.boolean(); });
}

// Keys that don't go together.
void check_keys(TomlFields& fields, const Step& step) {
  const auto refuse = [&fields](std::string_view key, std::string_view what) {
    const std::optional<TomlNode> node = fields.find(key);
    if (node) fields.keep(node->position(), node->bad_value(what));
  };
  if (fields.find("run")) {
    refuse("exec", "can't stand beside 'run': a step makes one call");
    refuse("write", "can't stand beside 'run': a step makes one call");
  } else if (fields.find("exec")) {
    refuse("write", "can't stand beside 'exec': a step makes one call");
    if (step.exec.empty()) refuse("exec", "must name a program");
  } else {
    for (const char* key : {"stdin", "env", "cwd", "wall", "cpu_time", "output_cap", "separate"}) {
      refuse(key, "needs 'run' or 'exec'");
    }
  }
  if (fields.find("from")) refuse("in", "can't stand beside 'from'");
  if (!fields.find("from")) refuse("as", "needs 'from': it names the fork");
}

Result<Step> read_step(const TomlNode& node, NamesOfCase& names) {
  Step step;
  TomlFields fields(node);
  fields.read("from", step.from, read_name);
  fields.read("as", step.as, read_name);
  fields.read("in", step.in, read_name);
  fields.read("snapshot", step.snapshot, read_name);
  fields.read("repeat", step.repeat, [](const TomlNode& count) -> Result<int> {
    FORKPOINT_ASSIGN_OR_RETURN(const std::int64_t value, count.integer(1, kRepeatMax));
    return static_cast<int>(value);
  });
  fields.read("run", step.run, read_text);
  fields.read("exec", step.exec, read_texts);
  fields.read("write", step.write, [](const TomlNode& table) { return table.text_by_key(); });
  read_options(fields, step.options);
  fields.read("expect", step.expect,
              [&step](const TomlNode& expect) { return read_expectation(expect, step); });
  check_keys(fields, step);
  names.check(fields);
  FORKPOINT_RETURN_IF_ERROR(std::move(fields).finish());
  return step;
}

Result<std::vector<Step>> read_steps(const TomlNode& node) {
  if (!node.is_list()) return node.wrong_type("a list of tables, [[case.step]]");
  std::vector<Step> steps;
  NamesOfCase names;
  FORKPOINT_ASSIGN_OR_RETURN(const std::vector<TomlNode> nodes, node.list());
  for (const TomlNode& element : nodes) {
    FORKPOINT_ASSIGN_OR_RETURN(Step step, read_step(element, names));
    steps.push_back(std::move(step));
  }
  return steps;
}

struct Requirements {
  std::vector<Level> levels;
  std::vector<std::string> features;
};

Requirements read_requirements(TomlFields& fields) {
  std::vector<std::string> names;
  fields.read("requires", names, read_texts);
  Requirements read;
  for (const std::string& name : names) {
    const std::optional<Level> level = level_from_string(name);
    if (level && *level != Level::none) {
      read.levels.push_back(*level);
    } else if (std::find(std::begin(kSuiteFeatures), std::end(kSuiteFeatures), name) !=
               std::end(kSuiteFeatures)) {
      read.features.push_back(name);
    } else {
      std::vector<std::string> known{"L1", "L2", "L3"};
      known.insert(known.end(), std::begin(kSuiteFeatures), std::end(kSuiteFeatures));
      const std::optional<TomlNode> node = fields.find("requires");
      fields.keep(node->position(), unknown_name(*node, "level or feature", name, known));
    }
  }
  return read;
}

// A case's levels stand in the place of its suite's; its features come on top.
void put_requirements(Case& one, const Requirements& own, const Requirements& of_suite) {
  one.requires_levels = own.levels.empty() ? of_suite.levels : own.levels;
  one.requires_features = of_suite.features;
  one.requires_features.insert(one.requires_features.end(), own.features.begin(), own.features.end());
}

struct SuiteContext {
  SandboxPolicy policy;
  Requirements requirements;
  std::filesystem::path folder;
};

Result<Case> read_case(const TomlNode& node, const SuiteContext& suite) {
  Case one;
  one.policy = suite.policy;
  TomlFields fields(node);
  fields.require("name");
  fields.require("step");
  fields.read("name", one.name, read_name);
  put_requirements(one, read_requirements(fields), suite.requirements);
  fields.read("programs", one.programs, read_texts);
  fields.read("policy", one.policy,
              [&suite](const TomlNode& policy) { return read_policy(policy, suite.policy, suite.folder); });
  fields.read("setup", one.setup, read_texts);
  fields.read("step", one.steps, read_steps);
  FORKPOINT_RETURN_IF_ERROR(std::move(fields).finish());
  return one;
}

Result<std::vector<Case>> read_cases(const TomlNode& node, const SuiteContext& suite) {
  if (!node.is_list()) return node.wrong_type("a list of tables, [[case]]");
  std::vector<Case> cases;
  std::set<std::string> names;
  FORKPOINT_ASSIGN_OR_RETURN(const std::vector<TomlNode> nodes, node.list());
  for (const TomlNode& element : nodes) {
    FORKPOINT_ASSIGN_OR_RETURN(Case one, read_case(element, suite));
    if (!names.insert(one.name).second) {
      return element.bad_value(fmt::format("has the name '{}' a second time", one.name));
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

// At most `bytes_max` bytes on one line.
std::string shortened(std::string text, std::size_t bytes_max) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() <= bytes_max) return text;
  return text.substr(0, bytes_max) + "...";
}

}  // namespace

bool Expectation::names_an_end() const {
  return exit_codes || signal || timed_out.value_or(false) || oom_killed.value_or(false) || (limit && *limit);
}

std::string Step::in_words() const {
  constexpr std::size_t kBytesMax = 60;
  if (run) return fmt::format("run '{}'", shortened(*run, kBytesMax));
  if (!exec.empty())
    return fmt::format("exec '{}'", shortened(fmt::format("{}", fmt::join(exec, " ")), kBytesMax));
  if (!write.empty()) return fmt::format("write '{}'", write.begin()->first);
  if (!from.empty()) return fmt::format("fork from '{}'", from);
  return snapshot.empty() ? "look" : fmt::format("snapshot '{}'", snapshot);
}

Result<Suite> parse_suite(std::string_view text, const std::string& source) {
  FORKPOINT_ASSIGN_OR_RETURN(const TomlDocument document, core::parse_toml(text, source));
  const std::filesystem::path path(source);
  Suite suite{.name = path.stem().native(), .cases = {}};
  SuiteContext context{.policy = {}, .requirements = {}, .folder = path.parent_path()};
  TomlFields fields(document.root());
  fields.require("case");
  fields.read("name", suite.name, read_name);
  fields.read("policy", context.policy,
              [&context](const TomlNode& node) { return read_policy(node, {}, context.folder); });
  context.requirements = read_requirements(fields);
  fields.read("case", suite.cases, [&context](const TomlNode& node) { return read_cases(node, context); });
  FORKPOINT_RETURN_IF_ERROR(std::move(fields).finish());
  return suite;
}

Result<Suite> load_suite(const std::string& path) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::string text, core::read_config_file(path));
  return parse_suite(text, path);
}

}  // namespace forkpoint::sandbox
