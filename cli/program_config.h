// ProgramConfig: the settings that every verb with a config file shares. Each part of the program describes
// its own section; a verb that needs more puts this one into a struct of its own.
#pragma once

#include <CLI/CLI.hpp>
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

// The arguments of a verb that reads a config: the file, and what overrides it.
class ConfigArguments {
 public:
  // Declares CONFIG and --set; the verb may make the returned CONFIG required.
  CLI::Option* add_to(CLI::App& app);

  // The config of the file (the defaults where none is named) with overrides applied; sets the log up as it
  // says.
  Result<ProgramConfig> load() const;

 private:
  std::string path_;
  std::vector<std::string> overrides_;
};

}  // namespace forkpoint::cli
