// ProgramConfig: the settings that every verb with a config file shares. Each part of the program describes
// its own section; a verb that needs more puts this one into a struct of its own.
#pragma once

#include <string>
#include <vector>

#include "core/config.h"
#include "core/log.h"

namespace forkpoint::cli {

struct LearnerConfig {
  std::string library;  // path of libforkpoint_learn.so; empty: beside the program
};

struct ProgramConfig {
  core::LogOptions log;
  LearnerConfig learner;
};

void describe(core::ConfigFields& fields, LearnerConfig& config);
void describe(core::ConfigFields& fields, ProgramConfig& config);

// The config of a file (none when `path` is empty) with overrides applied; sets the log up as it says.
Result<ProgramConfig> load_program_config(const std::string& path, const std::vector<std::string>& overrides);

}  // namespace forkpoint::cli
