// Files of layers, read as data: what an agent made of them must not lead us astray.
//
// Follows no link in the last name of a path, waits for no FIFO, and leaves access times alone where that is
// permitted. Errors (Boundary::sandbox): `layer_unreadable`. Pure functions of the file system; safe from any
// thread.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"
#include "core/result.h"
#include "core/unique_fd.h"

namespace forkpoint::sandbox {

// The error for what errno says now: "PATH: can't be <what>". Codes: `layer_unreadable`, `layer_unwritable`.
Error layer_unreadable(const std::filesystem::path& path, std::string_view what = "read");
Error layer_unwritable(const std::filesystem::path& path, std::string_view what = "written");

// folder/name, without a second slash where the folder is "/".
std::string path_in(const std::filesystem::path& folder, std::string_view name);

// Absent where nothing has that name.
Result<std::optional<struct stat>> status_of(const std::filesystem::path& path);
// Of something that was there a moment ago.
Result<struct stat> existing_status_of(const std::filesystem::path& path);
// As in FolderEntry: f, d, l, p, s, c, b.
char type_of(mode_t mode);

// Names in a folder but "." and "..", in no order.
Result<std::vector<std::string>> names_in(const std::filesystem::path& folder);

// A regular file, open for reading.
Result<core::UniqueFd> open_content(const std::filesystem::path& path);
Result<core::Hash128> hash_content(const std::filesystem::path& path);
Result<bool> same_content(const std::filesystem::path& one, const std::filesystem::path& other);
Result<std::string> link_target(const std::filesystem::path& path);

// Absent where the file has no such xattr or its file system has none at all.
Result<std::optional<std::string>> xattr_of(const std::filesystem::path& path, const std::string& name);
Result<std::vector<std::string>> xattr_names(const std::filesystem::path& path);

}  // namespace forkpoint::sandbox
