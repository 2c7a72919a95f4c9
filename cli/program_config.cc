#include "cli/program_config.h"

namespace forkpoint::cli {

void describe(core::ConfigFields& fields, LearnerConfig& config) {
  fields.text("library", config.library, "path of libforkpoint_learn.so; empty: beside the program");
}

void describe(core::ConfigFields& fields, ProgramConfig& config) {
  fields.section("log", config.log, "what the program says on stderr");
  fields.section("learner", config.learner, "the part of the program that needs LibTorch");
}

Result<ProgramConfig> load_program_config(const std::string& path,
                                          const std::vector<std::string>& overrides) {
  ProgramConfig config;
  if (path.empty()) {
    FORKPOINT_RETURN_IF_ERROR(core::parse_config(config, "", "defaults", overrides));
  } else {
    FORKPOINT_RETURN_IF_ERROR(core::load_config(config, path, overrides));
  }
  core::configure_log(config.log);
  return config;
}

}  // namespace forkpoint::cli
