// ChangedFile: one path in which two states of a file tree differ.
//
// Pure function of the layers on disk; safe from any thread as long as nobody writes to them. Proportional to
// what changed: files from the same place on disk and folders built from the same places are not looked into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace forkpoint::sandbox {

enum class ChangeKind {
  added,
  modified,  // content, link target, device or type; a file written anew with the same bytes is no change
  deleted,
  mode,  // only the permission bits
};
std::string_view to_string(ChangeKind kind);

struct ChangedFile {
  std::string path;  // absolute, as actions see it
  ChangeKind kind = ChangeKind::modified;
  char type = 'f';         // of what is there now; of what was there, if deleted. As in FolderEntry
  std::uint32_t mode = 0;  // permission bits now; 0 if deleted
};

class OverlayView;

// What differs between two views of stacks that share layers, sorted by path (bytewise). All that lies below
// a deleted or an added folder is listed too, also where a file took the folder's place. Owners, times and
// xattrs are not compared, nor is the root itself. `prefix` is put before every path ("" or "/workspace").
Result<std::vector<ChangedFile>> changed_files(const OverlayView& before, const OverlayView& now,
                                               std::string_view prefix);

}  // namespace forkpoint::sandbox
