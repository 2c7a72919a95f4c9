#include "core/temp_dir.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <utility>

#include "core/log.h"

namespace forkpoint::core {
namespace fs = std::filesystem;

Result<void> remove_tree(const fs::path& path) {
  std::error_code failure;
  fs::remove_all(path, failure);
  if (!failure) return {};
  // A folder without write or search permission can't be emptied by its owner: open all of them up
  // and try once more.
  std::error_code ignored;
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add | fs::perm_options::nofollow, ignored);
  for (fs::recursive_directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored)) {
    if (!entry->is_directory(ignored) || entry->is_symlink(ignored)) continue;
    fs::permissions(entry->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
  }
  fs::remove_all(path, failure);
  if (!failure) return {};
  return system_error(failure.value(), "not_removed", fmt::format("{}: can't be removed", path.native()));
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
