#include "cli/program_config.h"

namespace forkpoint::cli {

void describe(core::ConfigFields& fields, LearnerConfig& config) {
  fields.text("library", config.library, "path of libforkpoint_learn.so; empty: beside the program");
}

void describe(core::ConfigFields& fields, ProgramConfig& config) {
  fields.section("log", config.log, "what the program says on stderr");
  fields.section("learner", config.learner, "the part of the program that needs LibTorch");
}

CLI::Option* ConfigArguments::add_to(CLI::App& app) {
  app.add_option("--set", overrides_, "Override a key: a.b=c")->allow_extra_args(false);
  return app.add_option("CONFIG", path_, "A TOML file");
}

Result<ProgramConfig> ConfigArguments::load() const {
  ProgramConfig config;
  if (path_.empty()) {
    FORKPOINT_RETURN_IF_ERROR(core::parse_config(config, "", "defaults", overrides_));
  } else {
    FORKPOINT_RETURN_IF_ERROR(core::load_config(config, path_, overrides_));
  }
  core::configure_log(config.log);
  return config;
}

}  // namespace forkpoint::cli
