// TempDir: a private folder that is gone when its owner is.
//
// Movable, not copyable; not synchronized.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.h"

namespace forkpoint::core {

// Removes a folder and all in it, also where permissions of folders inside stand in the way, however deep;
// follows no link, and never goes into what is mounted inside. What can't be removed stays, and is an error
// `not_removed`. A path that does not exist is no error.
Result<void> remove_tree(const std::filesystem::path& path);

class TempDir {
 public:
  // Makes "<parent>/<prefix>XXXXXX" with mode 0700; `parent` is by default $TMPDIR or /tmp.
  static Result<TempDir> create(std::string_view prefix, std::filesystem::path parent = {});

  TempDir(TempDir&& other) noexcept : path_(other.release()) {}
  TempDir& operator=(TempDir&& other) noexcept;
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::filesystem::path& path() const { return path_; }

  // Gives the folder up: the caller removes it.
  std::filesystem::path release();

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace forkpoint::core
