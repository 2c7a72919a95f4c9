// FolderTree: the files of a sandbox at level L1, where nothing can be mounted: folders of its own on the
// machine, made by copying.
//
//   live/N/root/{workspace,tmp,home}   the state; a snapshot is a copy of `root`, a fork a copy of that
//   live/N/channel                     the shell's pipe and script, no state
//
// Copies keep modes, times, xattrs, links, hard links and holes, share blocks where the file system can, and
// belong to one owner. They take time in proportion to the tree: call from a worker. Errors
// (Boundary::sandbox): those of copy_file.h, `still_written`, `too_deep`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "core/result.h"

namespace forkpoint::sandbox {

struct FolderTree {
  std::filesystem::path folder = {};  // "live/N"
  std::int64_t owner = -1;            // user and group id of all that is in it; -1: the caller's own

  std::filesystem::path root() const { return folder / "root"; }
  std::filesystem::path channel() const { return folder / "channel"; }
  // The variables that speak of these folders, and of their owner.
  std::map<std::string, std::string> environment() const;
};

// A state to begin with at `into`, which must not exist: the content of `workspace`, of an empty one where
// that is empty, and empty other folders. What is mounted inside `workspace` stays out.
Result<void> make_first_state(const std::filesystem::path& into, const std::filesystem::path& workspace);

// The files of a new sandbox, from a state; `tree.folder` exists and is empty.
Result<void> make_folder_tree(const FolderTree& tree, const std::filesystem::path& state);

// The state of a quiet sandbox, copied to `into`. Error `still_written` where a file is open for writing.
Result<void> copy_state(const FolderTree& tree, const std::filesystem::path& into);

// What the files below `folder` take of the disk; 0 for what can't be seen.
std::uint64_t bytes_below(const std::filesystem::path& folder);

}  // namespace forkpoint::sandbox
