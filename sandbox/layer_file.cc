#include "sandbox/layer_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <memory>

#include "core/check.h"

namespace forkpoint::sandbox {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{128} * 1024;
// Of one value, and of the list of names: the kernel's limit.
constexpr std::size_t kXattrBytesMax = std::size_t{64} * 1024;

Error layer_error(std::string code, const std::filesystem::path& path, std::string_view what) {
  Error error =
      core::system_error(errno, std::move(code), fmt::format("{}: can't be {}", path.native(), what));
  error.boundary = Boundary::sandbox;
  return error;
}

// Opens without touching the access time, which only the owner and root may ask for.
core::UniqueFd open_quietly(const std::filesystem::path& path, int flags) {
  flags |= O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  core::UniqueFd fd(::open(path.c_str(), flags | O_NOATIME));
  if (!fd && errno == EPERM) fd.reset(::open(path.c_str(), flags));
  return fd;
}

struct CloseFolder {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// Fills `buffer` as far as the file goes.
Result<std::string_view> read_chunk(int fd, std::vector<char>& buffer, const std::filesystem::path& path) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t count = ::read(fd, buffer.data() + filled, buffer.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return layer_unreadable(path);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return std::string_view(buffer.data(), filled);
}

}  // namespace

Error layer_unreadable(const std::filesystem::path& path, std::string_view what) {
  return layer_error("layer_unreadable", path, what);
}

Error layer_unwritable(const std::filesystem::path& path, std::string_view what) {
  return layer_error("layer_unwritable", path, what);
}

std::string path_in(const std::filesystem::path& folder, std::string_view name) {
  std::string path;
  path.reserve(folder.native().size() + 1 + name.size());
  path = folder.native();
  if (!path.ends_with('/')) path += '/';
  path += name;
  return path;
}

Result<std::optional<struct stat>> status_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return std::optional(status);
  if (errno == ENOENT) return std::optional<struct stat>();
  return layer_unreadable(path);
}

Result<struct stat> existing_status_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return layer_unreadable(path);
  return status;
}

char type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return 'f';
    case S_IFDIR: return 'd';
    case S_IFLNK: return 'l';
    case S_IFIFO: return 'p';
    case S_IFSOCK: return 's';
    case S_IFCHR: return 'c';
    case S_IFBLK: return 'b';
    default: FORKPOINT_UNREACHABLE();
  }
}

Result<std::vector<std::string>> names_in(const std::filesystem::path& folder) {
  core::UniqueFd fd = open_quietly(folder, O_DIRECTORY);
  const std::unique_ptr<DIR, CloseFolder> stream(fd ? ::fdopendir(fd.get()) : nullptr);
  if (stream == nullptr) return layer_unreadable(folder, "listed");
  fd.release();  // the stream closes it

  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return layer_unreadable(folder, "listed");
    if (entry == nullptr) return names;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

Result<core::UniqueFd> open_content(const std::filesystem::path& path) {
  core::UniqueFd fd = open_quietly(path, 0);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return layer_unreadable(path);
  if (!S_ISREG(status.st_mode)) {
    return Error{.boundary = Boundary::sandbox,
                 .code = "layer_unreadable",
                 .message = fmt::format("{}: not a regular file", path.native())};
  }
  return fd;
}

Result<core::Hash128> hash_content(const std::filesystem::path& path) {
  FORKPOINT_ASSIGN_OR_RETURN(const core::UniqueFd fd, open_content(path));
  std::vector<char> buffer(kChunkBytes);
  core::Xxh3 hash;
  while (true) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::string_view chunk, read_chunk(fd.get(), buffer, path));
    hash.update(chunk);
    if (chunk.size() < buffer.size()) return hash.digest();
  }
}

Result<bool> same_content(const std::filesystem::path& one, const std::filesystem::path& other) {
  FORKPOINT_ASSIGN_OR_RETURN(const core::UniqueFd one_fd, open_content(one));
  FORKPOINT_ASSIGN_OR_RETURN(const core::UniqueFd other_fd, open_content(other));
  std::vector<char> one_buffer(kChunkBytes);
  std::vector<char> other_buffer(kChunkBytes);
  while (true) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::string_view chunk, read_chunk(one_fd.get(), one_buffer, one));
    FORKPOINT_ASSIGN_OR_RETURN(const std::string_view peer, read_chunk(other_fd.get(), other_buffer, other));
    if (chunk != peer) return false;
    if (chunk.size() < one_buffer.size()) return true;
  }
}

Result<std::string> link_target(const std::filesystem::path& path) {
  std::string target(PATH_MAX, '\0');  // the kernel makes no longer ones
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return layer_unreadable(path);
  target.resize(static_cast<std::size_t>(size));
  return target;
}

Result<std::optional<std::string>> xattr_of(const std::filesystem::path& path, const std::string& name) {
  std::string value(256, '\0');
  while (true) {
    const ssize_t size = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (size >= 0) {
      value.resize(static_cast<std::size_t>(size));
      return std::optional(std::move(value));
    }
    if (errno == ENODATA || errno == ENOTSUP) return std::optional<std::string>();
    if (errno != ERANGE || value.size() >= kXattrBytesMax) return layer_unreadable(path);
    value.resize(kXattrBytesMax);
  }
}

Result<std::vector<std::string>> xattr_names(const std::filesystem::path& path) {
  std::vector<char> list(1024);
  ssize_t size = 0;
  while ((size = ::llistxattr(path.c_str(), list.data(), list.size())) < 0) {
    if (errno == ENOTSUP) return std::vector<std::string>();
    if (errno != ERANGE || list.size() >= kXattrBytesMax) return layer_unreadable(path);
    list.resize(kXattrBytesMax);
  }
  std::vector<std::string> names;  // each ends with a zero byte
  for (auto next = list.begin(); next != list.begin() + size;
       next += static_cast<ssize_t>(names.back().size()) + 1) {
    names.emplace_back(&*next);
  }
  return names;
}

}  // namespace forkpoint::sandbox
