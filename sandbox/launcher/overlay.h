// Overlay mounts: made, frozen, and handed over as descriptors.
//
// Single-threaded. What is known of overlayfs and shows nowhere in its errors: two live mounts of one upper,
// and a live upper used as a lower, are accepted by the kernel and leak writes. So an upper is made into a
// layer only after its mount has been frozen here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/level.h"
#include "sandbox/overlay_view.h"

namespace forkpoint::sandbox {

struct OverlaySpec {
  std::vector<std::filesystem::path> lowers = {};  // top first
  std::filesystem::path upper = {};                // empty or of an earlier mount
  std::filesystem::path work = {};  // empty, used by nobody before: a volatile mount leaves its mark there
  Level level = Level::l2;
};

// Root's overlays follow renames of lower folders (redirect_dir); those of a user namespace can't.
OverlayXattrs xattrs_of(Level level);

// A detached mount, to be attached by whoever gets the descriptor; `mount_point` is used in passing. Relative
// paths are from the current folder: the kernel takes 4 kB of options in all.
Result<core::UniqueFd> mount_overlay(const OverlaySpec& spec, const std::filesystem::path& mount_point);

// Makes the whole overlay read-only, or writable again, whoever has it mounted. Error `still_written`: a file
// is open for writing.
Result<void> set_read_only(int mount, bool read_only);

}  // namespace forkpoint::sandbox
