// AppendFile: a file that grows by whole records.
//
// A record is in the kernel's hands when append() returns: killing the process loses nothing, a power cut
// may. Movable, not copyable; not synchronized; one writer per file.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.h"
#include "core/unique_fd.h"

namespace forkpoint::core {

class AppendFile {
 public:
  enum class Mode { keep, create };

  // keep: goes on behind what the file holds, or makes it. create: an existing file is an error
  // `file_exists`. Other errors: `file_unwritable`.
  static Result<AppendFile> open(std::filesystem::path path, Mode mode = Mode::keep);

  // Adds the record, as one write where the system takes it whole. Error: `file_unwritable` (disk full,
  // limit on file size); the file is then as long as before, so the next record does not land behind half
  // a record.
  Result<void> append(std::string_view record);

  const std::filesystem::path& path() const { return path_; }

 private:
  AppendFile(UniqueFd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::filesystem::path path_;
};

}  // namespace forkpoint::core
