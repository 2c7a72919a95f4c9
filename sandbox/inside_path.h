// Paths at level L1, where the state of a sandbox is not the root of a file tree of its own but lies in a
// folder of the machine's:
//
//   root "/state/1/root":   what a client calls /workspace/a   is, for actions, /state/1/root/workspace/a
//
// Above L1 the root is "/", and every path means itself. Pure functions on text; ".." is not looked at: what
// opens a path must hold it beneath the root itself.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace forkpoint::sandbox {

// What lies below the root at L1: all that a snapshot holds, and all that an action may write to.
inline constexpr std::array<std::string_view, 3> kStateFolders = {"workspace", "tmp", "home"};

// The absolute `path` as actions see it: those of the state's folders below the root, others as they are.
std::string seen_path(std::string_view path, std::string_view root);

// The same path from the root of the state on, "/workspace/a", whichever way it was given; nothing where an
// absolute path leads elsewhere. A relative one begins at the root.
std::optional<std::string> state_path(std::string_view path, std::string_view root);

}  // namespace forkpoint::sandbox
