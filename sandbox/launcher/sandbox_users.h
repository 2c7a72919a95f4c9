// SandboxUsers: the user that a sandbox of level L1 runs as.
//
// Landlock has no say over chmod, chown, utimes and signals by their plain rights. Where the launcher is
// root, each sandbox therefore gets a user id that nobody else has: what belongs to others is out of its
// reach by ids already. Elsewhere a sandbox is the launcher's own user. Plain value.
#pragma once

#include <cstdint>
#include <functional>

namespace forkpoint::sandbox {

class SandboxUsers {
 public:
  // Tries in a child what ids a process of ours may take on.
  static SandboxUsers find();

  // Whether sandboxes have users of their own.
  bool own() const { return count_ > 0; }
  // User and group id of sandbox number `n`; -1: the launcher's own.
  std::int64_t user_of(std::uint64_t n) const;
  // A group that all of them are in, so that one folder can be opened to them and to nobody else; -1: none.
  std::int64_t group() const { return own() ? static_cast<std::int64_t>(group_) : -1; }

 private:
  std::uint32_t group_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

// Makes the calling process one of `user`, or leaves it its own where that is -1, and takes every capability
// away, for good. False: errno says why.
bool become_user(std::int64_t user, std::int64_t group);

// Whether a process of ours can become that and `check` holds for it then: tried in a child.
bool holds_for_user(std::int64_t user, std::int64_t group, const std::function<bool()>& check);

}  // namespace forkpoint::sandbox
