// LayerFolder: the folder that an archive is unpacked into, which no name in the archive can leave.
//
// Every name is looked up by the kernel below the folder's descriptor (openat2, RESOLVE_BENEATH): a link on
// the way that is absolute or climbs out is the error `bad_image`; one that stays within and leads to a
// folder is followed, as tar does. Assumes that nobody else writes to the folder. Movable, not copyable; not
// synchronized.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"

namespace forkpoint::sandbox {

// A name of an archive in the form "a/b/c", "" for the root: without "." and empty parts, absolute names
// taken from the root. Errors: `bad_image` for "..", and for what no file system takes.
Result<std::string> normal_path(std::string_view name);

// The two halves of a normal path: "a/b" and "c".
std::string parent_of(const std::string& path);
std::string last_of(const std::string& path);

// What make_parent() found and made.
struct ParentFolder {
  core::UniqueFd fd;              // O_PATH
  std::vector<std::string> made;  // paths of folders that were not there, mode 0700
};

class LayerFolder {
 public:
  static Result<LayerFolder> open(const std::filesystem::path& path);

  // The folder that `path` lies in, made where it is not there. Files and dead links in the way go.
  Result<ParentFolder> make_parent(const std::string& path) const;

  // The folder at `path`, open for reading; holds nothing where there is none. Whether a link at the very end
  // of `path` counts as the folder that it leads to is up to the caller; links before that do.
  enum class LastLink { follow, refuse };
  Result<core::UniqueFd> find_folder(const std::string& path, LastLink last_link) const;

  // Removes what `name` is, if anything: a whole tree maybe.
  Result<void> remove(int parent, const std::string& name) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  LayerFolder(std::filesystem::path path, core::UniqueFd root)
      : path_(std::move(path)), root_(std::move(root)) {}
  Result<core::UniqueFd> step_down(int parent, const std::string& path, bool& made) const;

  std::filesystem::path path_;
  core::UniqueFd root_;
};

// openat2 below `root`: no way out by "..", links, or magic links of /proc. errno says why where it holds
// nothing.
core::UniqueFd open_beneath(int root, const std::string& path, int flags);

}  // namespace forkpoint::sandbox
