// Devices: a /dev that is built once and given to every sandbox as a read-only copy of its mounts.
//
// Single-threaded. In a user namespace no device can be made, so each is the machine's own, mounted over an
// empty file.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "core/unique_fd.h"

namespace forkpoint::sandbox {

// Builds it on `folder`: the usual devices, links, and empty folders to mount shm, pts and the shell's
// channel on.
Result<void> make_devices(const std::filesystem::path& folder);

// A detached copy of what was built on `folder`, for one sandbox.
Result<core::UniqueFd> copy_devices(const std::filesystem::path& folder);

// Mounts `source` over `target`, as it is or read-only; false: see errno.
bool bind_mount(const std::string& source, const std::string& target, bool read_only);

}  // namespace forkpoint::sandbox
