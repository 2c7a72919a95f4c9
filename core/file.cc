#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/unique_fd.h"

namespace forkpoint::core {
namespace {

Error input_error(std::string code, std::string message) {
  return Error{.fault = Fault::input, .code = std::move(code), .message = std::move(message)};
}

Error too_large(const std::filesystem::path& path, std::uint64_t bytes_max) {
  return input_error("file_too_large", fmt::format("{}: larger than {} bytes", path.native(), bytes_max));
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t bytes_max) {
  // O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) {
    return input_error("no_such_file", fmt::format("{}: no such file", path.native()));
  }
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return system_error(errno, "file_unreadable", fmt::format("{}: can't be read", path.native()));
  }
  if (!S_ISREG(status.st_mode)) {
    return input_error("not_a_file", fmt::format("{}: not a regular file", path.native()));
  }
  if (static_cast<std::uint64_t>(status.st_size) > bytes_max) return too_large(path, bytes_max);

  // Read to the end rather than to st_size: files of /proc say 0, and a file may grow meanwhile.
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(status.st_size));
  char buffer[64 * 1024];
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return system_error(errno, "file_unreadable", fmt::format("{}: can't be read", path.native()));
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(count));
    if (bytes.size() > bytes_max) return too_large(path, bytes_max);
  }
}

Result<void> make_folders(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (!failure) return {};
  return system_error(failure.value(), "file_unwritable", fmt::format("{}: can't be made", path.native()));
}

Error file_unwritable(const std::filesystem::path& path) {
  const int reason = errno;
  Error error = system_error(reason, "file_unwritable", fmt::format("{}: can't be written", path.native()));
  if (reason == ENOSPC || reason == EDQUOT) error.advice = "make room on the disk";
  if (reason == EFBIG) error.advice = "raise the limit on file size (ulimit -f)";
  return error;
}

Result<void> write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_unwritable(path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_file(const std::filesystem::path& path, std::string_view bytes) {
  if (path.has_parent_path()) FORKPOINT_RETURN_IF_ERROR(make_folders(path.parent_path()));
  std::string draft = path.native() + ".XXXXXX";
  UniqueFd fd(::mkostemp(draft.data(), O_CLOEXEC));
  if (!fd) return file_unwritable(path);
  Result<void> written = write_all(fd.get(), bytes, path);
  // mkostemp made it private; a file that replaces another should be as readable as any new one.
  if (written && (::fchmod(fd.get(), 0644) != 0 || ::fsync(fd.get()) != 0 ||
                  std::rename(draft.c_str(), path.c_str()) != 0)) {
    written = file_unwritable(path);
  }
  if (!written) ::unlink(draft.c_str());
  return written;
}

}  // namespace forkpoint::core
