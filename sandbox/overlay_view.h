// OverlayView: what a stack of overlayfs layers shows, worked out from the layers' folders without a mount.
//
//   OverlayView view({{"upper"}, {"layer1"}, {"base"}}, OverlayXattrs::user);
//   view.list("src")  ->  entries with the layer path that each comes from
//
// Follows the kernel's on-disk format (Documentation/filesystems/overlayfs.rst): whiteouts (character device 0/0, or
// an empty file with the whiteout xattr in a folder marked for it), opaque folders, and redirects of renamed folders.
// Two views that build a folder from the same layer folders show the same below it: comparison and hashing
// skip there, which makes both proportional to what changed.
//
// Reads the disk at each call and keeps nothing; safe from any thread while nobody writes to the layers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace forkpoint::sandbox {

// Whose xattrs mark whiteouts, opaque folders and redirects: trusted.overlay.* or user.overlay.*.
enum class OverlayXattrs { trusted, user };

// Where a folder of the view comes from: the layer folders that are merged, top first. Equal sources show equal trees.
using FolderSources = std::vector<std::filesystem::path>;

struct ViewEntry {
  std::string name;
  char type = 'f';                 // as in FolderEntry
  std::uint32_t mode = 0;          // permission bits of the topmost
  std::uint64_t size_bytes = 0;
  std::filesystem::path source;    // the file on disk, for anything but folders
  FolderSources sources;           // for folders
  std::size_t layer = 0;           // index of the layer that `source`, or the topmost of `sources`, lies in
};

class OverlayView {
 public:
  // `layers` top first, the live upper among them if there is one; one that does not exist is an error when read.
  OverlayView(std::vector<std::filesystem::path> layers, OverlayXattrs xattrs);

  // Entries of the root, sorted by name (bytewise).
  Result<std::vector<ViewEntry>> root() const;
  // Entries of a folder that this view gave out, sorted by name.
  Result<std::vector<ViewEntry>> list(const ViewEntry& folder) const;
  // The entry at a relative path ("src/a.c"), following no link; error `no_such_file`. "" is the root.
  Result<ViewEntry> find(std::string_view path) const;

  const std::vector<std::filesystem::path>& layers() const { return layers_; }

 private:
  std::vector<std::filesystem::path> layers_;
  OverlayXattrs xattrs_;
};

}  // namespace forkpoint::sandbox
