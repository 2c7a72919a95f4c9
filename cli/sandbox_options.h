// SandboxOptions: the options that every verb with a sandbox shares: image, workspace, limits, network,
// level.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "core/result.h"
#include "sandbox/local_backend.h"
#include "sandbox/policy.h"

namespace forkpoint::cli {

// --level alone, for verbs whose policies come from elsewhere.
class LevelOption {
 public:
  void add_to(CLI::App& app);
  // The launcher, held to the level where one was named. Error `level_too_low` where the machine gives less.
  Result<std::shared_ptr<sandbox::LocalBackend>> start_backend() const;
  // The level that was named, or what a sandbox should have at least.
  Result<sandbox::Level> level_min() const;

 private:
  std::string level_;
};

class SandboxOptions {
 public:
  void add_to(CLI::App& app);
  Result<sandbox::SandboxPolicy> policy() const;
  const LevelOption& level() const { return level_; }

 private:
  std::string image_ = "host";
  std::string workspace_;
  std::string network_ = "none";
  std::string shell_ = "fresh";
  // Quantities as text, so that errors can quote what was written; empty: the policy's own default.
  std::string memory_;
  std::string disk_;
  std::string wall_;
  std::string cpu_time_;
  std::string file_size_;
  std::string output_;
  std::string pids_;
  std::string cpus_;
  std::string open_files_;
  LevelOption level_;
};

}  // namespace forkpoint::cli
