// SandboxPool: sandboxes of one kind made ahead of need, and never more at once than the machine should bear.
//
//   SandboxPool pool(backend, {.policy = policy, .warm = 4, .live_max = 32});
//   FORKPOINT_ASSIGN_OR_RETURN(auto sandbox, pool.take());     // at once while warm ones are there
//
// Safe from any thread. Who waits is served in order of arrival. A sandbox from the pool is its caller's, is
// used once, and gives its place back when it is destroyed; it may outlive the pool.
#pragma once

#include <cstddef>
#include <memory>

#include "core/result.h"
#include "sandbox/sandbox.h"

namespace forkpoint::sandbox {

struct PoolOptions {
  SandboxPolicy policy;
  SnapshotRef snapshot = nullptr;  // where one is given, forks of it instead of new sandboxes of the policy
  std::size_t warm = 2;            // kept ready; they count as live
  std::size_t live_max = 16;       // at once, warm ones included; at least 1
};

class SandboxPool {
 public:
  // Starts to make the warm ones.
  SandboxPool(std::shared_ptr<Backend> backend, PoolOptions options);
  // Waits for who is making one; destroys the warm ones. take() must not be running.
  ~SandboxPool();
  SandboxPool(const SandboxPool&) = delete;
  SandboxPool& operator=(const SandboxPool&) = delete;

  // A sandbox that nobody has used; waits while live_max are in use. Errors: those of Backend::create and
  // fork, of the attempt that was made for this call.
  Result<std::unique_ptr<Sandbox>> take();

  // Ready to be taken, and callers that wait for a place.
  std::size_t warm() const;
  std::size_t waiting() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace forkpoint::sandbox
