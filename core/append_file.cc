#include "core/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/file.h"

namespace forkpoint::core {

Result<AppendFile> AppendFile::open(std::filesystem::path path, Mode mode) {
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | (mode == Mode::create ? O_EXCL : 0);
  UniqueFd fd(::open(path.c_str(), flags, 0644));
  if (!fd && errno == EEXIST) return system_error(errno, "file_exists", path.native());
  if (!fd) return file_unwritable(path);
  return AppendFile(std::move(fd), std::move(path));
}

Result<void> AppendFile::append(std::string_view record) {
  struct stat before {};
  if (::fstat(fd_.get(), &before) != 0) return file_unwritable(path_);
  Result<void> written = write_all(fd_.get(), record, path_);
  if (!written && ::ftruncate(fd_.get(), before.st_size) != 0) return file_unwritable(path_);
  return written;
}

}  // namespace forkpoint::core
