// Unpacking one tar into a folder, as a layer of overlayfs.
//
//   UnpackBudget budget{.bytes = options.bytes_max, .files = options.files_max};
//   FORKPOINT_RETURN_IF_ERROR(unpack_tar(reader, folder, {.xattrs = OverlayXattrs::user}, budget));
//
// The archive is untrusted: nothing is written outside `folder` (layer_folder.h), what it may take is
// bounded, and sizes are checked against what comes, not what is claimed. Device nodes and sockets are passed
// over: a sandbox gets its own /dev. Extended attributes are too: those that matter are privileges
// (security.capability) or would forge overlayfs's marks. Later entries replace earlier ones of the same
// name. Deletions recorded in the layer (.wh.NAME, .wh..wh..opq) concern the layers below only, whatever
// order the entries have, and become overlay_marks.h's marks.
//
// After an error the folder holds a part; the caller removes it. Safe from several threads on different
// folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/result.h"
#include "sandbox/overlay_view.h"
#include "sandbox/tar_reader.h"

namespace forkpoint::sandbox {

// What may still be taken, by one archive or several that share it.
struct UnpackBudget {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;

  // Error `image_too_large`, with `name`.
  Result<void> take_bytes(std::uint64_t count, const std::string& name);
  Result<void> take_file(const std::string& name);

  // The longest tar that can be within the budget, headers and padding included.
  std::uint64_t tar_bytes_max() const;
};

struct UnpackRules {
  OverlayXattrs xattrs = OverlayXattrs::user;
  std::int64_t uid_base = -1;  // as in UnpackOptions
  // Which entries to unpack, by their normal path (layer_folder.h); all by default.
  std::function<bool(const std::string&)> is_wanted = {};
};

// Unpacks all that `reader` has to come into `folder`, which exists and is empty. Errors: `bad_image`,
// `image_too_large`, both naming archive and entry; `file_unwritable`.
Result<void> unpack_tar(TarReader& reader, const std::filesystem::path& folder, const UnpackRules& rules,
                        UnpackBudget& budget);

}  // namespace forkpoint::sandbox
