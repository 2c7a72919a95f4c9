#include "cli/config_show.h"

#include <string>
#include <vector>

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

  void add_options(CLI::App& app) override {
    app.add_option("CONFIG", path_, "A TOML file")->required();
    app.add_option("--set", overrides_, "Override a key: a.b=c")->allow_extra_args(false);
  }

  Result<int> run(Output& output) override {
    FORKPOINT_ASSIGN_OR_RETURN(const ProgramConfig config, load_program_config(path_, overrides_));
    output.print(core::config_to_json(config), core::config_to_toml(config));
    return 0;
  }

 private:
  std::string path_;
  std::vector<std::string> overrides_;
};

}  // namespace

std::unique_ptr<Verb> make_config_show() { return std::make_unique<ConfigShow>(); }

}  // namespace forkpoint::cli
