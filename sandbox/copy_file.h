// copy_file: one file of any type but a folder, made anew elsewhere with all its attributes.
//
// Follows no link and keeps holes; shares the blocks where the file system can. For targets in folders that
// nobody else writes to. Errors (Boundary::sandbox): `layer_unreadable`, `layer_unwritable`. Safe from any
// thread.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string_view>

#include "core/result.h"

namespace forkpoint::sandbox {

// Whether a file's xattr of this name is wanted on its copy.
using XattrFilter = std::function<bool(std::string_view name)>;

// Makes `target`, which must not exist, a copy of `source` with its mode, owner, times and the wanted xattrs.
// A socket becomes a socket that nobody listens to.
Result<void> copy_file(const std::filesystem::path& source, const std::filesystem::path& target,
                       const XattrFilter& wanted);
// The same with mode, owner and times of `status`, which is the source's with other ones put over it.
Result<void> copy_file(const std::filesystem::path& source, const struct stat& status,
                       const std::filesystem::path& target, const XattrFilter& wanted);

// Gives `target`, of the same type as the file that `status` and the xattrs are of, its attributes. Those
// named "security." are left out where the caller may not set them.
Result<void> copy_attributes(const std::filesystem::path& source, const struct stat& status,
                             const std::filesystem::path& target, const XattrFilter& wanted);

}  // namespace forkpoint::sandbox
