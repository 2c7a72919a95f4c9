#include "sandbox/launcher/folder_filter.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

#include "sandbox/failure.h"

namespace forkpoint::sandbox {
namespace {

// Ids, families and commands have 32 bits; what a caller puts above them the kernel does not look at, nor do
// we.
constexpr std::uint64_t kLow = 0xffffffff;

scmp_arg_cmp is(unsigned argument, std::uint64_t value, std::uint64_t mask = kLow) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value & mask};
}

class Rules {
 public:
  explicit Rules(scmp_filter_ctx context) : context_(context) {}

  void refuse(int call, int error, const std::vector<scmp_arg_cmp>& arguments = {}) {
    if (rc_ != 0 || call == __NR_SCMP_ERROR) return;
    const int rc = seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call,
                                          static_cast<unsigned>(arguments.size()), arguments.data());
    if (rc != -EDOM) rc_ = rc;  // a call that this architecture lacks
  }
  int rc() const { return rc_; }

 private:
  scmp_filter_ctx context_;
  int rc_ = 0;
};

void guard(Rules& rules, pid_t process) {
  const auto pid = static_cast<std::uint64_t>(process);
  const auto group = static_cast<std::uint64_t>(-std::int64_t{process});  // each is the head of its own
  for (const std::uint64_t target : {pid, group}) {
    rules.refuse(SCMP_SYS(kill), EPERM, {is(0, target)});
    rules.refuse(SCMP_SYS(fcntl), EPERM, {is(1, F_SETOWN), is(2, target)});
  }
  for (const int call :
       {SCMP_SYS(tkill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)}) {
    rules.refuse(call, EPERM, {is(0, pid)});
  }
  rules.refuse(SCMP_SYS(tgkill), EPERM, {is(1, pid)});
  rules.refuse(SCMP_SYS(rt_tgsigqueueinfo), EPERM, {is(1, pid)});
}

void guard_processes(Rules& rules, const std::vector<pid_t>& guarded) {
  for (const pid_t pid : guarded) guard(rules, pid);
  rules.refuse(SCMP_SYS(kill), EPERM, {is(0, kLow)});  // -1: everybody
  // Whom these mean can't be seen here. Libraries fall back on kill where the first is not there.
  rules.refuse(SCMP_SYS(pidfd_send_signal), ENOSYS);
  rules.refuse(SCMP_SYS(fcntl), EPERM, {is(1, F_SETOWN_EX)});
  rules.refuse(SCMP_SYS(ioctl), EPERM, {is(1, FIOSETOWN)});
  rules.refuse(SCMP_SYS(ioctl), EPERM, {is(1, SIOCSPGRP)});
  // Limits and priorities of others: a time limit of none is a signal too.
  rules.refuse(SCMP_SYS(setpriority), EPERM, {{1, SCMP_CMP_NE, 0, 0}});
  rules.refuse(SCMP_SYS(setpriority), EPERM, {{0, SCMP_CMP_NE, PRIO_PROCESS, 0}});
  rules.refuse(SCMP_SYS(prlimit64), EPERM, {{0, SCMP_CMP_NE, 0, 0}});
}

// What lives in the kernel by a key or a name is the whole machine's, and would stay behind.
void refuse_shared_memory(Rules& rules) {
  for (const int call :
       {SCMP_SYS(shmget), SCMP_SYS(shmat), SCMP_SYS(shmctl), SCMP_SYS(semget), SCMP_SYS(semop),
        SCMP_SYS(semtimedop), SCMP_SYS(semctl), SCMP_SYS(msgget), SCMP_SYS(msgsnd), SCMP_SYS(msgrcv),
        SCMP_SYS(msgctl), SCMP_SYS(mq_open), SCMP_SYS(mq_unlink)}) {
    rules.refuse(call, ENOSYS);
  }
}

void refuse_sockets(Rules& rules, const FolderFilterOptions& options) {
  if (options.network == Network::none) {
    for (const int family : {AF_INET, AF_INET6, AF_NETLINK})
      rules.refuse(SCMP_SYS(socket), EAFNOSUPPORT, {is(0, static_cast<std::uint64_t>(family))});
  }
  if (!options.shared_user) return;
  // A session's bus, an agent for keys, a container engine: who may speak to them is no longer in a sandbox,
  // and the path of a socket can't be seen here.
  if (options.network == Network::none) {
    rules.refuse(SCMP_SYS(connect), EACCES);
  } else {
    rules.refuse(SCMP_SYS(socket), EACCES, {is(0, AF_UNIX)});
  }
  const std::uint64_t type = 0xf;  // without flags
  for (const int call : {SCMP_SYS(socket), SCMP_SYS(socketpair)})
    rules.refuse(call, EACCES, {is(0, AF_UNIX), is(1, SOCK_DGRAM, type)});
}

Error no_seccomp(int error) {
  errno = error;
  return host_failure("no_seccomp", "the system call filter of level L1 can't be entered");
}

}  // namespace

Result<void> enter_folder_filter(const FolderFilterOptions& options) {
  const std::unique_ptr<void, decltype(&seccomp_release)> context(seccomp_init(SCMP_ACT_ALLOW),
                                                                  &seccomp_release);
  if (!context) return no_seccomp(ENOMEM);
  seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
  seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  Rules rules(context.get());
  guard_processes(rules, options.guarded);
  refuse_shared_memory(rules);
  refuse_sockets(rules, options);
  const int rc = rules.rc() != 0 ? rules.rc() : seccomp_load(context.get());
  if (rc != 0) return no_seccomp(-rc);
  return {};
}

}  // namespace forkpoint::sandbox
