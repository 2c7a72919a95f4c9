#include "sandbox/launcher/sandbox_users.h"

#include <grp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace forkpoint::sandbox {
namespace {

// Where the ids of root's sandboxes lie, best first: far from people and services, or, where a user namespace
// around us maps few ids, at their end. Each launcher uses a part of its own.
struct Range {
  std::uint32_t group;
  std::uint32_t first;
  std::uint32_t launchers;
  std::uint32_t count;  // for each launcher
};
constexpr std::array<Range, 2> kRanges = {
    {{2'001'000'000, 2'001'000'001, 100'000, 1'000}, {60'600, 60'601, 40, 100}}};

bool works(const Range& range) {
  const std::int64_t last = range.first + std::int64_t{range.launchers} * range.count - 1;
  return holds_for_user(last, range.group, [] { return true; });
}

}  // namespace

SandboxUsers SandboxUsers::find() {
  SandboxUsers users;
  if (geteuid() != 0) return users;
  for (const Range& range : kRanges) {
    if (!works(range)) continue;
    users.group_ = range.group;
    users.first_ = range.first + static_cast<std::uint32_t>(getpid()) % range.launchers * range.count;
    users.count_ = range.count;
    break;
  }
  return users;
}

std::int64_t SandboxUsers::user_of(std::uint64_t n) const {
  return own() ? static_cast<std::int64_t>(first_ + n % count_) : -1;
}

bool become_user(std::int64_t user, std::int64_t group) {
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    prctl(PR_CAPBSET_DROP, capability);  // refused where we have none to drop
  if (user >= 0) {
    const auto uid = static_cast<uid_t>(user);
    const auto gid = static_cast<gid_t>(group);
    if (setgroups(1, &gid) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
      return false;
  }
  const cap_t none = cap_init();
  const bool dropped = cap_set_proc(none) == 0;
  cap_free(none);
  return dropped;
}

bool holds_for_user(std::int64_t user, std::int64_t group, const std::function<bool()>& check) {
  const pid_t pid = fork();
  if (pid == 0) _exit(become_user(user, group) && check() ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0;
}

}  // namespace forkpoint::sandbox
