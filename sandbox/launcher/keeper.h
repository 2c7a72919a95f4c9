// Keeper: the process that stands over a sandbox where there is no process namespace (L1): whatever started
// in it, however it left its parents, is below the keeper, and ends with it.
#pragma once

#include <functional>

namespace forkpoint::sandbox {

// What the launcher's new child does: starts `become_init` in a child of its own, and waits until that has
// ended, SIGTERM comes, or the other end of `lifeline` is closed. Then it ends everything below and exits.
// Holds no descriptor but `lifeline`.
[[noreturn]] void keep(int lifeline, const std::function<void()>& become_init);

}  // namespace forkpoint::sandbox
