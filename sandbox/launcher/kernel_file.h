// Small files by which the kernel is told something: cgroups, id maps, sysctls.
#pragma once

#include <filesystem>
#include <string_view>

namespace forkpoint::sandbox {

// Writes `text` in one call to a file that exists; false: see errno.
bool write_kernel_file(const std::filesystem::path& path, std::string_view text);

}  // namespace forkpoint::sandbox
