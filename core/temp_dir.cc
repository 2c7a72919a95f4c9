#include "core/temp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "core/log.h"
#include "core/unique_fd.h"

namespace forkpoint::core {
namespace fs = std::filesystem;

namespace {

Error not_removed(const fs::path& path, int error) {
  return system_error(error, "not_removed", fmt::format("{}: can't be removed", path.native()));
}

// A mounted file system is somebody else's, whatever folder it is mounted on.
bool is_mount_root(int folder, const char* name) {
  struct statx status {};
  return statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// A removal on its way down. What lies deeper than kDepthMax is first moved up to the top, since each level
// on the way holds a descriptor.
class Removal {
 public:
  explicit Removal(int top) : top_(top) {}

  // Zero, or the errno of the first thing that could not be removed; goes on with the rest all the same.
  int empty(int folder, int depth) {
    DIR* entries = fdopendir(dup(folder));
    if (entries == nullptr) return errno;
    int failure = 0;
    rewinddir(entries);
    while (const dirent* entry = readdir(entries)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      const int error = remove(folder, entry->d_name, depth);
      if (failure == 0) failure = error;
    }
    closedir(entries);
    return failure;
  }

  int remove(int folder, const char* name, int depth) {
    if (is_mount_root(folder, name)) return EBUSY;
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) return 0;
    if (errno != EISDIR && errno != EPERM && errno != ENOTDIR) return errno;
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0) return 0;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) return errno;
    if (depth >= kDepthMax) {
      const std::string moved = fmt::format(".deep-{}", next_++);
      if (renameat(folder, name, top_, moved.c_str()) != 0) return errno;
      moved_something_ = true;
      return 0;
    }
    UniqueFd inner = open_folder(folder, name);
    if (!inner) return errno;
    const int failure = empty(inner.get(), depth + 1);
    if (failure != 0) return failure;
    return unlinkat(folder, name, AT_REMOVEDIR) == 0 ? 0 : errno;
  }

  bool moved_something() { return std::exchange(moved_something_, false); }

 private:
  static constexpr int kDepthMax = 100;

  // A folder without read, write or search permission can't be emptied by its owner, but be opened up.
  static UniqueFd open_folder(int parent, const char* name) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd folder(openat(parent, name, kFlags));
    if (!folder && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
      folder.reset(openat(parent, name, kFlags));
    if (folder && faccessat(parent, name, W_OK | X_OK, AT_EACCESS) != 0) fchmod(folder.get(), 0700);
    return folder;
  }

  int top_;
  int next_ = 0;
  bool moved_something_ = false;
};

}  // namespace

Result<void> remove_tree(const fs::path& path) {
  if (is_mount_root(AT_FDCWD, path.c_str())) return not_removed(path, EBUSY);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return not_removed(path, errno);
  if (rmdir(path.c_str()) == 0) return {};
  UniqueFd top(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top && errno == EACCES && chmod(path.c_str(), 0700) == 0) {
    top.reset(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!top) return not_removed(path, errno);
  if (access(path.c_str(), W_OK | X_OK) != 0) fchmod(top.get(), 0700);
  Removal removal(top.get());
  int failure = 0;
  do {
    failure = removal.empty(top.get(), 1);
  } while (failure == 0 && removal.moved_something());
  if (failure == 0 && rmdir(path.c_str()) != 0) failure = errno;
  if (failure != 0) return not_removed(path, failure);
  return {};
}

Result<TempDir> TempDir::create(std::string_view prefix, fs::path parent) {
  std::error_code failure;
  if (parent.empty()) parent = fs::temp_directory_path(failure);
  if (failure)
    return system_error(failure.value(), "no_temp_dir", "no folder for temporary files ($TMPDIR, /tmp)");
  std::string path = (parent / fmt::format("{}XXXXXX", prefix)).native();
  if (::mkdtemp(path.data()) == nullptr) {
    return system_error(errno, "no_temp_dir", fmt::format("{}: no folder can be made", parent.native()));
  }
  return TempDir(path);
}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempDir::~TempDir() {
  if (path_.empty()) return;
  if (const Result<void> removed = remove_tree(path_); !removed) log_warning("{}", removed.error().to_line());
}

fs::path TempDir::release() { return std::exchange(path_, {}); }

}  // namespace forkpoint::core
