// nearest: which known name did the user mean? For "did you mean" in error messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forkpoint::core {

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, counted in bytes.
// (Optimal string alignment distance.)
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known name with the smallest edit distance to `name`, the first of equals; nothing when even
// the best shares too little with `name` to be worth suggesting.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> known);

}  // namespace forkpoint::core
