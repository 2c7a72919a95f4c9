#include "cli/sandbox_run.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "cli/sandbox_options.h"
#include "core/file.h"

namespace forkpoint::cli {
namespace {

using sandbox::ExecOptions;
using sandbox::ExecResult;
using sandbox::Sandbox;

struct Action {
  std::string command;
  ExecOptions options;
};

Error bad_action(const std::string& where, std::string message) {
  return {.boundary = Boundary::config,
          .fault = Fault::input,
          .code = "bad_action",
          .message = where + ": " + std::move(message)};
}

Result<Action> read_action(const Json& object, const std::string& where) {
  Action action;
  if (!object.is_object() || !object.contains("command"))
    return bad_action(where, "an action is an object with a \"command\"");
  for (const auto& [key, value] : object.items()) {
    const bool is_time = key == "wall_ms";
    if (key != "command" && key != "stdin" && !is_time) {
      return bad_action(where, "unknown key '" + key + "': there are command, wall_ms, stdin");
    }
    if (is_time ? !value.is_number() : !value.is_string()) {
      return bad_action(where, "'" + key + "' must be a " + (is_time ? "number" : "string"));
    }
  }
  action.command = object.at("command").get<std::string>();
  if (object.contains("stdin")) action.options.stdin_bytes = object.at("stdin").get<std::string>();
  if (object.contains("wall_ms")) action.options.wall_s_max = object.at("wall_ms").get<double>() / 1e3;
  return action;
}

// One JSON object a line; empty lines don't count.
Result<std::vector<Action>> read_actions(const std::string& path) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::string text, core::read_file(path));
  std::vector<Action> actions;
  std::size_t line_number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    start = end + 1;
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    FORKPOINT_ASSIGN_OR_RETURN(const Json object, core::parse_json(line, path, {}, line_number));
    FORKPOINT_ASSIGN_OR_RETURN(Action action, read_action(object, path + ":" + std::to_string(line_number)));
    actions.push_back(std::move(action));
  }
  return actions;
}

Json refused(const Error& error) {
  Json object = to_json(ExecResult{});
  object["error"] = {{"code", error.code}, {"message", error.message}};
  return object;
}

class SandboxRun final : public Verb {
 public:
  VerbHelp help() const override {
    return {
        .path = "sandbox run",
        .summary = "Run a command, or a file of actions, in a new sandbox",
        .example = "forkpoint sandbox run --memory 512M --wall 30s -- 'cd /tmp && echo hello > a && cat a'"};
  }

  void add_options(CLI::App& app) override {
    options_.add_to(app);
    app.add_option(
        "--actions", actions_path_,
        "Lines of JSON, {\"command\", \"wall_ms\"?, \"stdin\"?} each: run in order, in one sandbox");
    app.add_flag("--separate", separate_, "Standard error apart from standard output");
    app.add_option("command", command_,
                   "After --: one word is a shell command, several are a program and its arguments");
  }

  Result<int> run(Output& output) override {
    if (actions_path_.empty() == command_.empty()) {
      return Error{.boundary = Boundary::config,
                   .fault = Fault::input,
                   .code = "bad_usage",
                   .message = "either -- COMMAND or --actions FILE is needed",
                   .advice = "see 'forkpoint sandbox run --help'"};
    }
    FORKPOINT_ASSIGN_OR_RETURN(const sandbox::SandboxPolicy policy, options_.policy());
    std::vector<Action> actions;
    if (!actions_path_.empty()) {
      FORKPOINT_ASSIGN_OR_RETURN(actions, read_actions(actions_path_));
    }
    FORKPOINT_ASSIGN_OR_RETURN(const auto backend, options_.level().start_backend());
    FORKPOINT_ASSIGN_OR_RETURN(const auto sandbox, backend->create(policy));
    return actions_path_.empty() ? run_command(*sandbox, output) : run_actions(*sandbox, actions, output);
  }

 private:
  Result<int> run_command(Sandbox& sandbox, Output& output) {
    ExecOptions options;
    options.separate_output = separate_;
    FORKPOINT_ASSIGN_OR_RETURN(const ExecResult result, command_.size() == 1
                                                            ? sandbox.run(command_.front(), options)
                                                            : sandbox.exec(command_, options));
    Json object = to_json(result);
    object["level"] = to_string(sandbox.level());
    if (result.error_output && !output.json()) {
      const std::string errors = result.error_output->text();
      (void)!write(STDERR_FILENO, errors.data(), errors.size());
    }
    output.print_exactly(object, result.output.text());
    return output.json() ? 0 : result.shell_status();
  }

  Result<int> run_actions(Sandbox& sandbox, std::vector<Action>& actions, Output& output) {
    for (Action& action : actions) {
      action.options.separate_output = separate_;
      const Result<ExecResult> result = sandbox.run(action.command, action.options);
      if (!result && result.error().fault != Fault::input) return result.error();
      output.print_line(result ? to_json(*result) : refused(result.error()));
    }
    return 0;
  }

  SandboxOptions options_;
  std::string actions_path_;
  bool separate_ = false;
  std::vector<std::string> command_;
};

}  // namespace

std::unique_ptr<Verb> make_sandbox_run() { return std::make_unique<SandboxRun>(); }

}  // namespace forkpoint::cli
