#include "sandbox/launcher/child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <net/if.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/unique_fd.h"
#include "sandbox/failure.h"
#include "sandbox/launcher/devices.h"
#include "sandbox/launcher/kernel_file.h"
#include "sandbox/launcher/sandbox_users.h"
#include "sandbox/wire.h"

namespace forkpoint::sandbox {
namespace {

Error failed(const std::string& what, std::string advice = "") {
  return host_failure("setup_failed", "a new sandbox: " + what, std::move(advice));
}

Result<void> mount_volumes(const ChildSetup& setup, const std::string& root) {
  for (const auto& [fd, path] : setup.volumes) {
    const std::string target = path == "/" ? root : root + path;
    if (syscall(SYS_move_mount, fd, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
      return failed("'" + path + "' can't be mounted");
    }
  }
  return {};
}

// The devices come from the launcher, read-only; what a sandbox may write there is its own.
Result<void> mount_devices(const ChildSetup& setup, const std::string& root) {
  const std::string dev = root + "/dev";
  if (syscall(SYS_move_mount, setup.devices, "", AT_FDCWD, dev.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return failed("/dev");
  // All that can be held in memory without a process: no more than leaves room for an action to clean it up.
  const std::string channel = "mode=700,nr_inodes=1024,size=" +
                              std::to_string(std::min<std::uint64_t>(setup.shm_bytes_max, 24 << 20));
  if (mount("tmpfs", (dev + "/forkpoint").c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
            channel.c_str()) != 0)
    return failed("/dev/forkpoint");
  const std::string shm = "mode=1777,size=" + std::to_string(setup.shm_bytes_max);
  if (mount("tmpfs", (dev + "/shm").c_str(), "tmpfs", MS_NOSUID | MS_NODEV, shm.c_str()) != 0)
    return failed("/dev/shm");
  if (mount("devpts", (dev + "/pts").c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
            "newinstance,ptmxmode=0666,mode=620") != 0) {
    return failed("/dev/pts");
  }
  return {};
}

// /proc with what could be written read-only, and what tells of the machine hidden. Other users' files there
// are closed to us anyway; these are those that our own root could touch.
Result<void> mount_proc(const ChildSetup& setup, const std::string& root) {
  const std::string proc = root + "/proc";
  if (mount("proc", proc.c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return failed("/proc",
                  "in a container whose /proc is masked, start it with an unmasked one (docker run "
                  "--security-opt systempaths=unconfined)");
  }
  // No user namespaces further in: the last one that can be made is ours.
  write_kernel_file(proc + "/sys/user/max_user_namespaces", "0");
  if (!bind_mount(proc + "/sys", proc + "/sys", true)) return failed("/proc/sys");
  // init's scores and names: it has its actions' user, who could set them.
  if (!bind_mount(proc + "/1", proc + "/1", true)) return failed("/proc/1");
  if (!bind_mount("/dev/null", proc + "/keys", true) && errno != ENOENT) return failed("/proc/keys");
  // The rest is the machine's root's alone; where the sandbox's root is that one (level 2 for root), it is
  // closed too.
  if (!setup.root_is_machines) return {};
  for (const char* name : {"/sysrq-trigger", "/irq", "/bus", "/fs"}) {
    if (!bind_mount(proc + name, proc + name, true) && errno != ENOENT)
      return failed("/proc" + std::string(name));
  }
  for (const char* name : {"/kcore", "/timer_list", "/kmsg"}) {
    if (!bind_mount("/dev/null", proc + name, true) && errno != ENOENT)
      return failed("/proc" + std::string(name));
  }
  return {};
}

Result<void> mount_sys(const ChildSetup& setup, const std::string& root) {
  // sysfs belongs to a network namespace; with the machine's own there is none of ours.
  if (setup.network == Network::host) return {};
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
  if (mount("sysfs", (root + "/sys").c_str(), "sysfs", flags, nullptr) != 0 && errno != EPERM)
    return failed("/sys");
  return {};
}

Result<void> enter_root(const std::string& root) {
  if (chdir(root.c_str()) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
    return failed("its root can't be entered");
  // The old root lies over the new one now; what is under "." is the old.
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) return failed("the old root can't be left");
  return {};
}

Result<void> bring_loopback_up() {
  const core::UniqueFd socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (!socket_fd || ioctl(socket_fd.get(), SIOCSIFFLAGS, &request) != 0)
    return failed("loopback can't be brought up");
  return {};
}

// What root inside may do to its own files and processes; nothing that reaches the kernel's machinery.
constexpr std::array<cap_value_t, 11> kKeptCapabilities = {
    CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID,           CAP_KILL,           CAP_SETGID,
    CAP_SETUID, CAP_SETPCAP,      CAP_SETFCAP, CAP_NET_BIND_SERVICE, CAP_DAC_READ_SEARCH};

Result<void> drop_capabilities() {
  for (cap_value_t cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; ++cap) {
    if (std::find(kKeptCapabilities.begin(), kKeptCapabilities.end(), cap) != kKeptCapabilities.end())
      continue;
    if (prctl(PR_CAPBSET_DROP, cap) != 0) return failed("a capability can't be dropped");
  }
  cap_t wanted = cap_init();
  const int count = static_cast<int>(kKeptCapabilities.size());
  cap_set_flag(wanted, CAP_PERMITTED, count, kKeptCapabilities.data(), CAP_SET);
  cap_set_flag(wanted, CAP_EFFECTIVE, count, kKeptCapabilities.data(), CAP_SET);
  const int rc = cap_set_proc(wanted);
  cap_free(wanted);
  if (rc != 0) return failed("capabilities can't be set");
  return {};
}

Result<void> become_root(const ChildSetup& setup) {
  char byte = 0;
  if (read(setup.ids_mapped, &byte, 1) != 1) return failed("its ids were not mapped");
  (void)!setgroups(0, nullptr);  // refused where there is only one id, which has no groups then
  if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0) return failed("it can't become its own root");
  return {};
}

Result<void> build_tree(const ChildSetup& setup) {
  const std::string root = setup.mount_point.string();
  umask(0);
  FORKPOINT_RETURN_IF_ERROR(mount_volumes(setup, root));
  FORKPOINT_RETURN_IF_ERROR(mount_devices(setup, root));
  FORKPOINT_RETURN_IF_ERROR(mount_proc(setup, root));
  FORKPOINT_RETURN_IF_ERROR(mount_sys(setup, root));
  FORKPOINT_RETURN_IF_ERROR(enter_root(root));
  umask(022);
  return {};
}

Result<void> enter_namespaces(const ChildSetup& setup) {
  FORKPOINT_RETURN_IF_ERROR(become_root(setup));
  FORKPOINT_RETURN_IF_ERROR(build_tree(setup));
  if (sethostname(setup.hostname.data(), setup.hostname.size()) != 0) return failed("its name can't be set");
  if (setup.network == Network::none) FORKPOINT_RETURN_IF_ERROR(bring_loopback_up());
  return drop_capabilities();
}

// Where init finds its sockets, and we its program.
constexpr int kInitControl = 3;
constexpr int kInitProgram = 5;

// The sockets at 3 and 4, the program at 5, nothing else.
Result<void> arrange_descriptors(const ChildSetup& setup) {
  constexpr int kHigh = 1000;
  const std::array<int, 3> sources = {fcntl(setup.control, F_DUPFD, kHigh),
                                      fcntl(setup.client, F_DUPFD, kHigh), fcntl(setup.init, F_DUPFD, kHigh)};
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  for (int i = 0; i < 3; ++i) {
    if (dup2(sources[static_cast<std::size_t>(i)], 3 + i) < 0)
      return failed("its descriptors can't be arranged");
  }
  fcntl(kInitProgram, F_SETFD, FD_CLOEXEC);
  if (syscall(SYS_close_range, 6U, ~0U, 0U) != 0) return failed("inherited descriptors can't be closed");
  return {};
}

}  // namespace

[[noreturn]] void become_init(const ChildSetup& setup) {
  int control = setup.control;
  const auto all = [&setup, &control]() -> Result<void> {
    setsid();
    if (setup.level >= Level::l2) FORKPOINT_RETURN_IF_ERROR(enter_namespaces(setup));
    if (setup.level < Level::l2 && !become_user(setup.user, setup.group))
      return failed("it can't become its user");
    // After the last change of user id, which would clear it.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return failed("it can't be tied to its launcher");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("no_new_privs can't be set");
    if (setup.confine) FORKPOINT_RETURN_IF_ERROR(setup.confine());
    std::signal(SIGPIPE, SIG_DFL);  // the only one that the launcher ignores
    FORKPOINT_RETURN_IF_ERROR(arrange_descriptors(setup));
    control = kInitControl;
    FORKPOINT_RETURN_IF_ERROR(setup.filter->enter());
    char name[] = "forkpoint-init";
    char* arguments[] = {name, nullptr};
    char* environment[] = {nullptr};
    syscall(SYS_execveat, kInitProgram, "", arguments, environment, AT_EMPTY_PATH);
    return failed("forkpoint-init can't be started");
  };
  const auto done = all();
  (void)send_message(control, MessageType::failed, 0, encode_error(done.error()));
  _exit(1);
}

}  // namespace forkpoint::sandbox
