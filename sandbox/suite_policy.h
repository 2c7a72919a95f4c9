// Reading the values of a suite that stand for a sandbox's policy and limits.
//
// Pure functions. Errors are those of core/toml.h.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.h"
#include "core/toml.h"
#include "sandbox/policy.h"

namespace forkpoint::sandbox {

// As in quantity.h, or plain numbers.
Result<std::uint64_t> read_bytes(const core::TomlNode& node);
Result<double> read_seconds(const core::TomlNode& node);

// `policy` with what the table says put over it. Folders in it are relative to `folder`.
Result<SandboxPolicy> read_policy(const core::TomlNode& node, SandboxPolicy policy,
                                  const std::filesystem::path& folder);

}  // namespace forkpoint::sandbox
