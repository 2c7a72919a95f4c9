#include "cli/config_show.h"

#include "cli/program_config.h"

namespace forkpoint::cli {
namespace {

class ConfigShow final : public Verb {
 public:
  VerbHelp help() const override {
    return {.path = "config show",
            .summary = "Print a config as it is understood, defaults and overrides included",
            .example = "forkpoint config show examples/minimal.toml --set log.level=debug"};
  }

  void add_options(CLI::App& app) override { arguments_.add_to(app)->required(); }

  Result<int> run(Output& output) override {
    FORKPOINT_ASSIGN_OR_RETURN(const ProgramConfig config, arguments_.load());
    output.print(core::config_to_json(config), core::config_to_toml(config));
    return 0;
  }

 private:
  ConfigArguments arguments_;
};

}  // namespace

std::unique_ptr<Verb> make_config_show() { return std::make_unique<ConfigShow>(); }

}  // namespace forkpoint::cli
