#include "cli/sandbox_doctor.h"

#include <fmt/format.h>

#include "cli/sandbox_options.h"

namespace forkpoint::cli {
namespace {

using sandbox::MachineFeature;

class SandboxDoctor final : public Verb {
 public:
  VerbHelp help() const override {
    return {.path = "sandbox doctor",
            .summary = "Show what isolation this machine gives, and how to get more",
            .example = "forkpoint sandbox doctor --json"};
  }

  void add_options(CLI::App& app) override { level_.add_to(app); }

  Result<int> run(Output& output) override {
    const auto backend = level_.start_backend();
    std::vector<MachineFeature> features;
    std::string_view level = "none";
    if (backend) {
      features = (*backend)->features();
      features.push_back(try_sandbox(**backend));
      if (features.back().ok) level = to_string((*backend)->level());
    } else {
      features.push_back({"launcher", false, backend.error().message, backend.error().advice});
    }
    print(output, level, features);
    return level == "none" ? 1 : 0;
  }

 private:
  // The proof: a sandbox that runs something.
  static MachineFeature try_sandbox(sandbox::Backend& backend) {
    sandbox::SandboxPolicy policy;
    policy.level_min = sandbox::Level::l1;
    const auto sandbox = backend.create(policy);
    if (!sandbox) return {"sandbox", false, sandbox.error().message, sandbox.error().advice};
    const auto result = (*sandbox)->run("echo it works");
    if (!result) return {"sandbox", false, result.error().message, result.error().advice};
    if (result->output.head != "it works\n")
      return {"sandbox", false, "its shell says '" + result->output.text() + "'", ""};
    return {"sandbox", true, "a sandbox ran a command", ""};
  }

  static void print(Output& output, std::string_view level, const std::vector<MachineFeature>& features) {
    Json object = {{"level", level}, {"features", Json::object()}, {"advice", Json::array()}};
    std::string text = fmt::format("level {}\n", level);
    for (const MachineFeature& feature : features) {
      object["features"][feature.name] = {{"ok", feature.ok}, {"detail", feature.detail}};
      text += fmt::format("{:<4}{:<30}{}\n", feature.ok ? "ok" : "-", feature.name, feature.detail);
      if (feature.advice.empty()) continue;
      object["advice"].push_back(feature.advice);
      if (feature.advice != feature.detail) text += fmt::format("{:<34}{}\n", "", feature.advice);
    }
    output.print(object, text);
  }

  LevelOption level_;
};

}  // namespace

std::unique_ptr<Verb> make_sandbox_doctor() { return std::make_unique<SandboxDoctor>(); }

}  // namespace forkpoint::cli
