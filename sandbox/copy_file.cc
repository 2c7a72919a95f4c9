#include "sandbox/copy_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/unique_fd.h"
#include "sandbox/layer_file.h"

namespace forkpoint::sandbox {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{128} * 1024;

// Copies [from, to) of one descriptor to the same place of the other.
Result<void> copy_range(int in, int out, off_t from, off_t to, const std::filesystem::path& source,
                        const std::filesystem::path& target) {
  std::vector<char> buffer(kChunkBytes);
  while (from < to) {
    const std::size_t wanted = std::min(buffer.size(), static_cast<std::size_t>(to - from));
    const ssize_t count = ::pread(in, buffer.data(), wanted, from);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return layer_unreadable(source);
    if (count == 0) return {};
    if (::lseek(out, from, SEEK_SET) < 0) return layer_unwritable(target);
    if (!core::write_all(out, {buffer.data(), static_cast<std::size_t>(count)}, target)) {
      return layer_unwritable(target);
    }
    from += count;
  }
  return {};
}

Result<void> copy_content(const std::filesystem::path& source, const std::filesystem::path& target,
                          off_t size) {
  FORKPOINT_ASSIGN_OR_RETURN(const core::UniqueFd in, open_content(source));
  const core::UniqueFd out(
      ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return layer_unwritable(target);
  if (::ioctl(out.get(), FICLONE, in.get()) == 0) return {};
  if (::ftruncate(out.get(), size) != 0) return layer_unwritable(target);
  off_t end = 0;
  while (end < size) {
    const off_t start = ::lseek(in.get(), end, SEEK_DATA);
    if (start < 0 && errno == ENXIO) return {};  // nothing but a hole up to the end
    if (start < 0) return layer_unreadable(source);
    end = ::lseek(in.get(), start, SEEK_HOLE);
    if (end < 0) return layer_unreadable(source);
    FORKPOINT_RETURN_IF_ERROR(copy_range(in.get(), out.get(), start, end, source, target));
  }
  return {};
}

Result<void> copy_xattrs(const std::filesystem::path& source, const std::filesystem::path& target,
                         const XattrFilter& wanted) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::vector<std::string> names, xattr_names(source));
  for (const std::string& name : names) {
    if (!wanted(name)) continue;
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<std::string> value, xattr_of(source, name));
    if (!value || ::lsetxattr(target.c_str(), name.c_str(), value->data(), value->size(), 0) == 0) continue;
    const bool refused = errno == EPERM || errno == ENOTSUP;
    if (!refused || !name.starts_with("security."))
      return layer_unwritable(target, "given the xattr " + name);
  }
  return {};
}

}  // namespace

Result<void> copy_attributes(const std::filesystem::path& source, const struct stat& status,
                             const std::filesystem::path& target, const XattrFilter& wanted) {
  FORKPOINT_ASSIGN_OR_RETURN(const struct stat made, existing_status_of(target));
  // The owner first: changing it takes set-user-ID bits and capabilities away.
  const bool owned = made.st_uid == status.st_uid && made.st_gid == status.st_gid;
  if (!owned && ::lchown(target.c_str(), status.st_uid, status.st_gid) != 0) {
    return layer_unwritable(target, "given its owner");
  }
  FORKPOINT_RETURN_IF_ERROR(copy_xattrs(source, target, wanted));
  // The mode after access control lists, which bring one of their own.
  if (!S_ISLNK(status.st_mode) && ::chmod(target.c_str(), status.st_mode & 07777U) != 0) {
    return layer_unwritable(target, "given its mode");
  }
  const std::array<struct timespec, 2> times = {status.st_atim, status.st_mtim};
  if (::utimensat(AT_FDCWD, target.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0) {
    return layer_unwritable(target, "given its times");
  }
  return {};
}

Result<void> copy_file(const std::filesystem::path& source, const std::filesystem::path& target,
                       const XattrFilter& wanted) {
  FORKPOINT_ASSIGN_OR_RETURN(const struct stat status, existing_status_of(source));
  return copy_file(source, status, target, wanted);
}

Result<void> copy_file(const std::filesystem::path& source, const struct stat& status,
                       const std::filesystem::path& target, const XattrFilter& wanted) {
  if (S_ISREG(status.st_mode)) {
    FORKPOINT_RETURN_IF_ERROR(copy_content(source, target, status.st_size));
  } else if (S_ISLNK(status.st_mode)) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::string link, link_target(source));
    if (::symlink(link.c_str(), target.c_str()) != 0) return layer_unwritable(target);
  } else if (::mknod(target.c_str(), (status.st_mode & S_IFMT) | 0600U, status.st_rdev) != 0) {
    return layer_unwritable(target);
  }
  return copy_attributes(source, status, target, wanted);
}

}  // namespace forkpoint::sandbox
