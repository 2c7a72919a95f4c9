// tree_hash: one hash of a file tree's names, types, modes, link targets and contents; not of times and
// owners.
//
// Contents of immutable layers are hashed once and remembered in `cache_folder`, one file per layer, so that
// a hash costs a walk of the tree and the reading of what is new. Safe from any thread and process while
// nobody writes to the layers.
//
// A folder's hash is XXH3 with 128 bits over its entries, sorted by name bytewise; the tree's is that of
// `below`:
//
//   entry   := name NUL type mode payload      type as in FolderEntry; mode: four octal digits
//   payload := hash of the content (f) | hash of the folder (d) | target NUL (l) | st_rdev (c, b) | nothing
//   (p, s)
//
// with hashes as two and st_rdev as one 64-bit number, big-endian. The mode of `below` itself is not part of
// it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"
#include "core/result.h"

namespace forkpoint::sandbox {

class OverlayView;

struct TreeHashRequest {
  std::string_view below = {};  // the folder of the view to hash, relative; "" for all
  // Patterns on the path below it, with "*" for any bytes but "/"; one without "/" is matched with the last
  // name. A folder that is left out is left out with all in it.
  std::vector<std::string> leave_out = {};
  std::size_t mutable_layers = 1;  // how many of the view's topmost layers may still change: never remembered
  std::filesystem::path cache_folder = {};  // empty: remember nothing
};

// The same tree gives the same hash whatever layers it is spread over. Errors (Boundary::sandbox):
// `no_such_file` and `not_a_folder` for `below`, and those of OverlayView. A cache that can't be read or
// written costs time, and a warning.
Result<core::Hash128> tree_hash(const OverlayView& view, const TreeHashRequest& request);

}  // namespace forkpoint::sandbox
