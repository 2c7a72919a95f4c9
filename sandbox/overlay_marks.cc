#include "sandbox/overlay_marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cerrno>
#include <string_view>

#include "core/file.h"
#include "core/unique_fd.h"

namespace forkpoint::sandbox {
namespace {

std::string xattr_name(OverlayXattrs xattrs, std::string_view key) {
  return std::string(xattrs == OverlayXattrs::trusted ? "trusted.overlay." : "user.overlay.").append(key);
}

Result<void> set(int fd, const std::string& name, std::string_view value, const std::filesystem::path& path) {
  if (::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) == 0) return {};
  const int reason = errno;
  Error error = core::file_unwritable(path);
  error.message += " (extended attribute " + name + ")";
  if (reason == ENOTSUP) error.advice = "put the layers on a file system that has extended attributes";
  return error;
}

}  // namespace

Result<void> mark_opaque(int folder, OverlayXattrs xattrs, const std::filesystem::path& path) {
  return set(folder, xattr_name(xattrs, "opaque"), "y", path);
}

bool is_marked_opaque(const std::filesystem::path& path, OverlayXattrs xattrs) {
  char value = 0;
  return ::lgetxattr(path.c_str(), xattr_name(xattrs, "opaque").c_str(), &value, 1) == 1 && value == 'y';
}

Result<void> make_whiteout(int folder, const std::string& name, OverlayXattrs xattrs,
                           const std::filesystem::path& path) {
  if (::mknodat(folder, name.c_str(), S_IFCHR, makedev(0, 0)) == 0) return {};
  // EPERM: a seccomp filter of a container around us, or a kernel that is too old.
  if (errno == EPERM) return make_whiteout_file(folder, name, xattrs, path);
  return core::file_unwritable(path / name);
}

Result<void> make_whiteout_file(int folder, const std::string& name, OverlayXattrs xattrs,
                                const std::filesystem::path& path) {
  const std::string opaque = xattr_name(xattrs, "opaque");
  char value = 0;
  const bool hides_all = ::fgetxattr(folder, opaque.c_str(), &value, 1) == 1 && value == 'y';
  if (!hides_all) FORKPOINT_RETURN_IF_ERROR(set(folder, opaque, "x", path));
  const core::UniqueFd file(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return core::file_unwritable(path / name);
  return set(file.get(), xattr_name(xattrs, "whiteout"), "y", path / name);
}

}  // namespace forkpoint::sandbox
