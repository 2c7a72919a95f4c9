// The marks by which a folder tells overlayfs what it hides of the layers below: whiteouts and opaque
// folders.
//
// The kernel's format (Documentation/filesystems/overlayfs.rst). A whiteout is a character device 0/0 or,
// since Linux 6.7, an empty file with the xattr "whiteout" in a folder whose "opaque" is "x"; "opaque" = "y"
// hides all that the folder holds in the layers below. On the root of a layer the kernel heeds no such mark.
//
// `folder` is a descriptor open for reading (not O_PATH), `path` its name for errors, which are
// `file_unwritable`. Safe from any thread.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "sandbox/overlay_view.h"

namespace forkpoint::sandbox {

Result<void> mark_opaque(int folder, OverlayXattrs xattrs, const std::filesystem::path& path);

// Whether the folder is marked "y".
bool is_marked_opaque(const std::filesystem::path& path, OverlayXattrs xattrs);

// A device where this process may make one (Linux 5.8 lets everyone), a file where not. `name` must be free.
Result<void> make_whiteout(int folder, const std::string& name, OverlayXattrs xattrs,
                           const std::filesystem::path& path);

// The second form of make_whiteout.
Result<void> make_whiteout_file(int folder, const std::string& name, OverlayXattrs xattrs,
                                const std::filesystem::path& path);

}  // namespace forkpoint::sandbox
