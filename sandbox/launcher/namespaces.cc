#include "sandbox/launcher/namespaces.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "sandbox/failure.h"
#include "sandbox/launcher/kernel_file.h"

namespace forkpoint::sandbox {
namespace {

Error failed(std::string message) { return host_failure("namespace_failed", std::move(message)); }

std::string map_line(std::uint32_t inside, std::uint32_t outside, std::uint32_t count) {
  return std::to_string(inside) + " " + std::to_string(outside) + " " + std::to_string(count) + "\n";
}

// A process that lives until its pipe is closed.
struct Companion {
  pid_t pid = -1;
  core::UniqueFd alive;

  void end() {
    alive.reset();
    if (pid > 0) waitpid(pid, nullptr, 0);
    pid = -1;
  }
};

// A child in a user namespace of its own, which has no maps yet.
Companion start_in_user_namespace() {
  int alive[2];
  int ready[2];
  if (pipe2(alive, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0) return {};
  Companion child{.pid = fork(), .alive = core::UniqueFd(alive[1])};
  if (child.pid == 0) {
    close(alive[1]);
    const char ok = unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
    (void)!write(ready[1], &ok, 1);
    char byte = 0;
    (void)!read(alive[0], &byte, 1);
    _exit(0);
  }
  close(alive[0]);
  close(ready[1]);
  char ok = 'n';
  (void)!read(ready[0], &ok, 1);
  close(ready[0]);
  if (ok != 'y') {
    child.end();
    return {};
  }
  return child;
}

core::UniqueFd make_id_userns(const IdRange& ids) {
  Companion child = start_in_user_namespace();
  if (child.pid < 0) return {};
  core::UniqueFd userns;
  if (map_ids(child.pid, ids)) {
    userns.reset(open(("/proc/" + std::to_string(child.pid) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  }
  child.end();
  return userns;
}

// Our range in /etc/subuid or /etc/subgid: "name:first:count".
IdRange subordinate_ids(const char* path) {
  const passwd* entry = getpwuid(getuid());
  const std::string name = entry != nullptr ? entry->pw_name : "";
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string owner = line.substr(0, first);
    if (owner != name && owner != std::to_string(getuid())) continue;
    return {static_cast<std::uint32_t>(std::strtoul(line.c_str() + first + 1, nullptr, 10)),
            static_cast<std::uint32_t>(std::strtoul(line.c_str() + second + 1, nullptr, 10))};
  }
  return {0, 0};
}

// Runs newuidmap or newgidmap for process `target`: 0 is ourselves, the rest our subordinate ids.
bool run_map_helper(const char* program, pid_t target, std::uint32_t own, const IdRange& range) {
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string texts[] = {
        std::to_string(target),         "0", std::to_string(own), "1", "1", std::to_string(range.first),
        std::to_string(range.count - 1)};
    execlp(program, program, texts[0].c_str(), texts[1].c_str(), texts[2].c_str(), texts[3].c_str(),
           texts[4].c_str(), texts[5].c_str(), texts[6].c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0;
}

// Maps `target`'s ids from outside its user namespace: root's to themselves (its files stay its own, its
// power over the machine does not come along), for others subordinate ids where there are some, else only
// ourselves. Says how many.
std::uint32_t map_from_outside(pid_t target) {
  if (getuid() == 0) return map_ids(target, {0, kIdCount}) ? kIdCount : 0;
  IdRange uids = subordinate_ids("/etc/subuid");
  IdRange gids = subordinate_ids("/etc/subgid");
  uids.count = std::min(std::min(uids.count, gids.count), kIdCount);
  gids.count = uids.count;
  if (uids.count > 1 && run_map_helper("newuidmap", target, getuid(), uids) &&
      run_map_helper("newgidmap", target, getgid(), gids)) {
    return uids.count;
  }
  const std::string folder = "/proc/" + std::to_string(target);
  const bool ok = write_kernel_file(folder + "/setgroups", "deny") &&
                  write_kernel_file(folder + "/uid_map", map_line(0, getuid(), 1)) &&
                  write_kernel_file(folder + "/gid_map", map_line(0, getgid(), 1));
  return ok ? 1 : 0;
}

bool enter_mount_namespace() {
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// A child with the old privileges writes the maps that we, once inside, may not.
std::uint32_t enter_user_namespace() {
  int go[2];
  int answer[2];
  if (pipe2(go, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0) return 0;
  const pid_t self = getpid();
  const pid_t helper = fork();
  if (helper == 0) {
    close(go[1]);
    char byte = 0;
    std::uint32_t count = 0;
    if (read(go[0], &byte, 1) == 1) count = map_from_outside(self);
    (void)!write(answer[1], &count, sizeof count);
    _exit(0);
  }
  std::uint32_t count = 0;
  if (helper > 0 && unshare(CLONE_NEWUSER) == 0) {
    (void)!write(go[1], "g", 1);
    close(answer[1]);
    if (read(answer[0], &count, sizeof count) != sizeof count) count = 0;
  }
  for (const int fd : {go[0], go[1], answer[0]}) close(fd);
  if (helper > 0) waitpid(helper, nullptr, 0);
  if (count == 0) return 0;
  if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0) return 0;
  if (count > 1) (void)!setgroups(0, nullptr);
  // The change of user took the right to look at our own children's /proc away.
  prctl(PR_SET_DUMPABLE, 1);
  return count;
}

// Whether a user namespace can be made at all, tried where it does no harm.
bool user_namespaces_work() {
  const pid_t pid = fork();
  if (pid == 0) _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0;
}

bool try_l3(Namespaces& namespaces, std::vector<std::string>& why_not) {
  if (getuid() != 0) {
    why_not.emplace_back("L3 needs root");
    return false;
  }
  const IdRange ids{kRootIdFirst, kIdCount};
  namespaces.id_userns = make_id_userns(ids);
  if (!namespaces.id_userns) {
    why_not.emplace_back("L3 needs user namespaces with mapped ids");
    return false;
  }
  // Tried on /usr, which every image of the machine has below it.
  const long tree = syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  const core::UniqueFd clone(static_cast<int>(tree));
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<std::uint64_t>(namespaces.id_userns.get());
  if (!clone ||
      syscall(SYS_mount_setattr, clone.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0) {
    why_not.emplace_back(
        std::string("L3 needs idmapped mounts of /usr: ") + std::strerror(errno) +
        " (Linux 5.12 or newer; inside a container the root may be an overlay, which can't be idmapped)");
    return false;
  }
  if (!enter_mount_namespace()) {
    why_not.emplace_back(std::string("L3 needs CAP_SYS_ADMIN: ") + std::strerror(errno));
    return false;
  }
  namespaces.level = Level::l3;
  namespaces.ids = ids;
  namespaces.detail = std::to_string(ids.count) + " ids from " + std::to_string(ids.first);
  return true;
}

bool try_l2(Namespaces& namespaces, std::vector<std::string>& why_not) {
  if (!user_namespaces_work()) {
    why_not.emplace_back(
        "L2 needs unprivileged user namespaces (sysctl user.max_user_namespaces; on Ubuntu 24.04 "
        "kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for forkpoint-sandboxd)");
    return false;
  }
  const std::uint32_t count = enter_user_namespace();
  if (count == 0 || !enter_mount_namespace()) {
    why_not.emplace_back("L2: a user namespace can be made but not entered");
    return false;
  }
  namespaces.level = Level::l2;
  namespaces.ids = {0, count};
  namespaces.detail =
      count > 1 ? std::to_string(count) + " ids"
                : "one id (chown to others fails; lines in /etc/subuid and /etc/subgid and the package "
                  "uidmap give more)";
  return true;
}

}  // namespace

Namespaces enter_namespaces(Level level_max, std::vector<std::string>& why_not) {
  Namespaces namespaces;
  if (level_max >= Level::l3 && try_l3(namespaces, why_not)) return namespaces;
  namespaces.id_userns.reset();
  if (level_max >= Level::l2 && try_l2(namespaces, why_not)) return namespaces;
  namespaces.level = level_max >= Level::l1 ? Level::l1 : Level::none;
  return namespaces;
}

Result<void> map_ids(pid_t pid, const IdRange& ids) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string line = map_line(0, ids.first, ids.count);
  if (!write_kernel_file(folder + "/uid_map", line) || !write_kernel_file(folder + "/gid_map", line)) {
    return failed("the ids of a user namespace can't be mapped");
  }
  return {};
}

Result<void> mount_idmapped(const std::filesystem::path& folder, const std::filesystem::path& target,
                            int id_userns) {
  const core::UniqueFd tree(static_cast<int>(
      syscall(SYS_open_tree, AT_FDCWD, folder.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!tree) return failed("'" + folder.string() + "' can't be mounted");
  // Read-only besides: it is the machine's own folder, and whatever walks over our state must not be able to
  // harm it.
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY;
  attributes.userns_fd = static_cast<std::uint64_t>(id_userns);
  if (syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0) {
    Error error = failed("the ids of '" + folder.string() + "' can't be mapped");
    error.advice = "its file system does not support idmapped mounts: copy it elsewhere, or use --level L2";
    return error;
  }
  if (syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    return failed("'" + target.string() + "' can't be mounted on");
  }
  return {};
}

}  // namespace forkpoint::sandbox
