// squash: several layers of an overlay made into one that shows the same.
//
// Files are hard-linked, not copied, so it costs time by number of files, not by size, and the old layers can
// go when nobody uses them any more. Files of layers that remain are never linked, since one of those may be
// someone's original; they are copied where they must be written out. Not synchronized; the layers must not
// change meanwhile.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"
#include "sandbox/overlay_view.h"

namespace forkpoint::sandbox {

// Writes to `into` (a folder that does not exist yet, on the same file system) the topmost `count` layers of
// `layers` (top first) as one layer: above the layers that remain, it shows what the whole stack showed.
// Keeps modes, owners, times and xattrs, and the whiteouts and opaque marks that still hide something. A
// folder that was renamed out of a layer that remains (redirect) is written out in full. On an error nothing
// stays of `into`. Errors: those of OverlayView, and `layer_unwritable`.
Result<void> squash(const std::vector<std::filesystem::path>& layers, std::size_t count, OverlayXattrs xattrs,
                    const std::filesystem::path& into);

}  // namespace forkpoint::sandbox
