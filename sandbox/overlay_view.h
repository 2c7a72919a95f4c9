// OverlayView: what a stack of overlayfs layers shows, worked out from the layers' folders without a mount.
//
//   OverlayView view({{"upper"}, {"layer1"}, {"base"}}, OverlayXattrs::user);
//   view.list("src")  ->  entries with the layer path that each comes from
//
// Follows the kernel's on-disk format (Documentation/filesystems/overlayfs.rst): whiteouts (character device
// 0/0, or an empty file with the whiteout xattr in a folder marked for it), opaque folders, and redirects of
// renamed folders. Two views that build a folder from the same layer folders show the same below it:
// comparison skips there, which makes it proportional to what changed. As in the kernel, an opaque mark on a
// layer's root means nothing. Layers written with metacopy=on are not understood.
//
// Reads the disk at each call and keeps nothing; safe from any thread while nobody writes to the layers.
// Errors (Boundary::sandbox): `layer_unreadable`, also for what lies deeper than a path can say; `bad_layer`
// for marks that the kernel would not accept either.
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

// Where a folder of the view comes from: the layer folders that are merged, top first. Equal sources show
// equal trees.
using FolderSources = std::vector<std::filesystem::path>;

struct ViewEntry {
  std::string name;
  char type = 'f';                         // as in FolderEntry
  std::uint32_t mode = 0;                  // permission bits of the topmost
  std::uint64_t size_bytes = 0;            // of files and links; 0 for anything else
  std::filesystem::path source;            // the file on disk, for anything but folders
  FolderSources sources;                   // for folders
  std::vector<std::size_t> source_layers;  // index of the layer that each of `sources` lies in, ascending
  std::size_t layer = 0;  // index of the layer that `source`, or the topmost of `sources`, lies in
};

class OverlayView {
 public:
  // `layers` top first, the live upper among them if there is one: folders, no links to them; one that does
  // not exist is an error when read.
  OverlayView(std::vector<std::filesystem::path> layers, OverlayXattrs xattrs);

  // Entries of the root, sorted by name (bytewise).
  Result<std::vector<ViewEntry>> root() const;
  // Entries of a folder that this view gave out, sorted by name.
  Result<std::vector<ViewEntry>> list(const ViewEntry& folder) const;
  // The entry at a relative path ("src/a.c"), following no link; error `no_such_file`. "" is the root.
  Result<ViewEntry> find(std::string_view path) const;

  // Whether this view's `folder` is built from the same layer folders, above the same layers, as
  // `other_folder` of `other`, and therefore shows the same.
  bool same_folder(const ViewEntry& folder, const OverlayView& other, const ViewEntry& other_folder) const;

  const std::vector<std::filesystem::path>& layers() const { return layers_; }

 private:
  ViewEntry root_folder() const;

  std::vector<std::filesystem::path> layers_;
  OverlayXattrs xattrs_;
};

// "trusted.overlay." or "user.overlay.", what the names of all of overlayfs's own xattrs begin with.
std::string_view xattr_prefix(OverlayXattrs xattrs);

}  // namespace forkpoint::sandbox
