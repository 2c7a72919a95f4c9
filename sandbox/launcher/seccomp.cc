#include "sandbox/launcher/seccomp.h"

#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "core/unique_fd.h"

namespace forkpoint::sandbox {
namespace {

struct Denied {
  const char* name;
  int error;
};

// libseccomp knows the names on each architecture; one that a machine does not have is skipped.
constexpr Denied kDenied[] = {
    // The file tree is the sandbox's wall: nothing may be mounted, moved or entered.
    {"mount", EPERM},
    {"umount2", EPERM},
    {"umount", EPERM},
    {"pivot_root", EPERM},
    {"chroot", EPERM},
    {"fsopen", EPERM},
    {"fsconfig", EPERM},
    {"fsmount", EPERM},
    {"fspick", EPERM},
    {"move_mount", EPERM},
    {"open_tree", EPERM},
    {"mount_setattr", EPERM},
    // A namespace of one's own brings every capability inside it, and with them the kernel's least tested
    // code.
    {"setns", EPERM},
    {"unshare", EPERM},
    // Opens files by handle, past every wall of paths.
    {"open_by_handle_at", EPERM},
    // Keys are not kept apart by user namespaces in older kernels.
    {"keyctl", EPERM},
    {"add_key", EPERM},
    {"request_key", EPERM},
    // Programs inside the kernel, and counters that read across processes.
    {"bpf", EPERM},
    {"perf_event_open", EPERM},
    // Helps to win races inside the kernel.
    {"userfaultfd", EPERM},
    // Submits calls that no filter sees. ENOSYS, since libraries fall back on that.
    {"io_uring_setup", ENOSYS},
    {"io_uring_enter", ENOSYS},
    {"io_uring_register", ENOSYS},
    // The machine itself: kernel code, its clock, swap, accounting, power, log, quotas.
    {"kexec_load", EPERM},
    {"kexec_file_load", EPERM},
    {"init_module", EPERM},
    {"finit_module", EPERM},
    {"delete_module", EPERM},
    {"reboot", EPERM},
    {"swapon", EPERM},
    {"swapoff", EPERM},
    {"settimeofday", EPERM},
    {"clock_settime", EPERM},
    {"clock_adjtime", EPERM},
    {"adjtimex", EPERM},
    {"stime", EPERM},
    {"acct", EPERM},
    {"syslog", EPERM},
    {"quotactl", EPERM},
    {"quotactl_fd", EPERM},
    {"nfsservctl", EPERM},
    {"lookup_dcookie", EPERM},
    {"iopl", EPERM},
    {"ioperm", EPERM},
    {"vhangup", EPERM},
    // Watches whole file systems.
    {"fanotify_init", EPERM},
    // Its structure can't be looked into, so its namespace flags can't be denied; libraries fall back on
    // clone.
    {"clone3", ENOSYS},
};

constexpr std::uint64_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                                          CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                                          0x80 /* CLONE_NEWTIME */;

// The last system call that was known when the list above was written: 467 is open_tree_attr (Linux 6.15). A
// newer one has not been judged.
constexpr std::uint32_t kLastKnownCall = 467;

using Context = std::unique_ptr<void, decltype(&seccomp_release)>;

Error no_seccomp(int error, const char* what) {
  Error failed = core::system_error(error, "no_seccomp", std::string("system call filters: ") + what);
  failed.boundary = Boundary::sandbox;
  failed.fault = Fault::host;
  return failed;
}

int deny_names(scmp_filter_ctx context) {
  for (const Denied& denied : kDenied) {
    const int number = seccomp_syscall_resolve_name(denied.name);
    if (number == __NR_SCMP_ERROR) continue;
    const int rc =
        seccomp_rule_add(context, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(denied.error)), number, 0);
    if (rc != 0 && rc != -EDOM) return rc;
  }
  return 0;
}

// Of ids, families and requests the kernel looks at 32 bits only, so must we.
scmp_arg_cmp low_half_is(unsigned argument, std::uint64_t value) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = 0xffffffff, .datum_b = value};
}

// init runs as the same user as its actions, and the kernel asks for no more than that where limits and
// priorities are concerned: a second of processor time, and the sandbox ends. The second list: "everything of
// this user", which init is part of.
int guard_init(scmp_filter_ctx context) {
  constexpr std::uint64_t kInit = 1;
  constexpr std::uint64_t kIoPriorityOfUser = 3;  // IOPRIO_WHO_USER, which no header of the C library has
  const std::pair<int, scmp_arg_cmp> denied[] = {
      {SCMP_SYS(prlimit64), low_half_is(0, kInit)},
      {SCMP_SYS(setpriority), low_half_is(1, kInit)},
      {SCMP_SYS(ioprio_set), low_half_is(1, kInit)},
      {SCMP_SYS(sched_setaffinity), low_half_is(0, kInit)},
      {SCMP_SYS(sched_setattr), low_half_is(0, kInit)},
      {SCMP_SYS(sched_setparam), low_half_is(0, kInit)},
      {SCMP_SYS(sched_setscheduler), low_half_is(0, kInit)},
      {SCMP_SYS(setpriority), low_half_is(0, PRIO_USER)},
      {SCMP_SYS(ioprio_set), low_half_is(0, kIoPriorityOfUser)},
  };
  int rc = 0;
  for (const auto& [number, compare] : denied) {
    if (rc == 0) rc = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), number, 1, compare);
  }
  return rc;
}

// Calls that only some arguments make dangerous.
int deny_arguments(scmp_filter_ctx context) {
  const std::uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
  int rc = 0;
  const auto add = [&](int number, scmp_arg_cmp compare) {
    if (rc == 0) rc = seccomp_rule_add(context, refuse, number, 1, compare);
  };
  for (std::uint64_t bit = 1; bit <= CLONE_NEWNET; bit <<= 1) {
    if ((kNamespaceFlags & bit) != 0)
      add(SCMP_SYS(clone), {.arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = bit, .datum_b = bit});
  }
  // Type into somebody's terminal.
  add(SCMP_SYS(ioctl), low_half_is(1, TIOCSTI));
  add(SCMP_SYS(ioctl), low_half_is(1, TIOCLINUX));
  // Sockets: the families that programs use. vsock above all reaches the hypervisor's other guests through
  // any network namespace.
  constexpr std::array<std::uint64_t, 4> kAllowed = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
  for (std::uint64_t family = 0; family < AF_MAX; ++family) {
    bool ok = false;
    for (const std::uint64_t one : kAllowed) ok = ok || one == family;
    if (ok) continue;
    if (rc == 0) {
      rc = seccomp_rule_add(context, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                            low_half_is(0, family));
    }
  }
  if (rc == 0)
    rc = seccomp_rule_add(context, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                          scmp_arg_cmp{.arg = 0, .op = SCMP_CMP_GE, .datum_a = AF_MAX, .datum_b = 0});
  return rc;
}

Result<std::vector<std::uint64_t>> compiled(scmp_filter_ctx context) {
  const core::UniqueFd file(memfd_create("seccomp", MFD_CLOEXEC));
  const int rc = seccomp_export_bpf(context, file.get());
  if (rc != 0) return no_seccomp(-rc, "the filter can't be compiled");
  const off_t size = lseek(file.get(), 0, SEEK_END);
  std::vector<std::uint64_t> program(static_cast<std::size_t>(size) / sizeof(sock_filter));
  if (pread(file.get(), program.data(), static_cast<std::size_t>(size), 0) != size)
    return no_seccomp(errno, "the filter can't be read");
  return program;
}

std::vector<std::uint64_t> newer_calls() {
  const sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLastKnownCall, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  std::vector<std::uint64_t> words(std::size(program));
  std::memcpy(words.data(), program, sizeof program);
  return words;
}

}  // namespace

Result<SystemCallFilter> SystemCallFilter::build() {
  const Context context(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (!context) return no_seccomp(ENOMEM, "no filter can be made");
  // Calls by another architecture's numbers (32 bit programs) are not judged: they don't exist.
  seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
  // A tree instead of a chain of comparisons: what every call pays.
  seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  int rc = deny_names(context.get());
  if (rc == 0) rc = deny_arguments(context.get());
  if (rc == 0) rc = guard_init(context.get());
  if (rc != 0) return no_seccomp(-rc, "the filter can't be built");
  SystemCallFilter filter;
  FORKPOINT_ASSIGN_OR_RETURN(filter.denied_, compiled(context.get()));
  filter.newer_ = newer_calls();
  return filter;
}

Result<void> SystemCallFilter::enter() const {
  static_assert(sizeof(sock_filter) == sizeof(std::uint64_t));
  for (const auto* program : {&newer_, &denied_}) {
    sock_fprog filter{static_cast<unsigned short>(program->size()),
                      reinterpret_cast<sock_filter*>(const_cast<std::uint64_t*>(program->data()))};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
      return no_seccomp(errno, "the filter can't be entered");
  }
  return {};
}

}  // namespace forkpoint::sandbox
