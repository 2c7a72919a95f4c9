// tree_hash: one hash of a file tree's names, types, modes, link targets and contents; not of times and owners.
//
// Proportional to what is new: contents of immutable layers are hashed once and remembered in `cache_folder`, one
// file per layer. Safe from any thread while nobody writes to the layers that are said to be immutable.
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
  std::string_view below;  // the folder of the view to hash, relative; "" for all
  std::vector<std::string> leave_out;  // patterns on the path below it; one without "/" is matched with the last name
  std::size_t mutable_layers = 1;  // how many of the view's topmost layers may still change: never remembered
  std::filesystem::path cache_folder;  // empty: remember nothing
};

// The same tree gives the same hash whatever layers it is spread over.
Result<core::Hash128> tree_hash(const OverlayView& view, const TreeHashRequest& request);

}  // namespace forkpoint::sandbox
