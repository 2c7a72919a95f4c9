// Whole files, read and written with clear errors.
//
// For files of our own process only: what a sandbox holds is read through sandbox/, which follows no
// link out of it. Pure functions of the file system; safe from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

namespace forkpoint::core {

inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 30;

// The file's bytes. Errors: `no_such_file`, `not_a_file`, `file_too_large`, `file_unreadable`; the
// first two are the fault of whoever gave the path (Fault::input).
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t bytes_max = kFileBytesMax);

// Replaces the file as a whole: after a crash there is the old one or the new one, never a part.
// Makes the folders above it. Error: `file_unwritable`.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

// Makes the folder and those above it; one that is there is no error. Error: `file_unwritable`.
Result<void> make_folders(const std::filesystem::path& path);

// The error `file_unwritable` for what errno says now, with what to do where that is known.
Error file_unwritable(const std::filesystem::path& path);

// Writes all of `bytes` to an open descriptor; `path` is for the error, `file_unwritable`.
Result<void> write_all(int fd, std::string_view bytes, const std::filesystem::path& path);

}  // namespace forkpoint::core
