#include "sandbox/launcher/devices.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "sandbox/failure.h"

namespace forkpoint::sandbox {
namespace {

Error failed(const std::string& what) { return host_failure("no_devices", "devices for sandboxes: " + what); }

core::UniqueFd copy_mounts(const std::string& path) {
  return core::UniqueFd(static_cast<int>(
      syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
}

}  // namespace

bool bind_mount(const std::string& source, const std::string& target, bool read_only) {
  const core::UniqueFd tree = copy_mounts(source);
  if (!tree) return false;
  if (read_only) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    if (syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                sizeof attributes) != 0)
      return false;
  }
  return syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

Result<void> make_devices(const std::filesystem::path& folder) {
  const std::string dev = folder.string();
  if (mkdir(dev.c_str(), 0755) != 0 ||
      mount("tmpfs", dev.c_str(), "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k,nr_inodes=64") != 0) {
    return failed("their folder can't be made");
  }
  for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
    const std::string target = dev + "/" + name;
    const core::UniqueFd file(open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!file || !bind_mount(std::string("/dev/") + name, target, false)) return failed(name);
  }
  constexpr std::array<std::array<const char*, 2>, 5> kLinks = {{{"/proc/self/fd", "fd"},
                                                                 {"/proc/self/fd/0", "stdin"},
                                                                 {"/proc/self/fd/1", "stdout"},
                                                                 {"/proc/self/fd/2", "stderr"},
                                                                 {"pts/ptmx", "ptmx"}}};
  for (const auto& [target, name] : kLinks) {
    if (symlink(target, (dev + "/" + name).c_str()) != 0) return failed(name);
  }
  for (const char* name : {"/shm", "/pts", "/forkpoint"}) {
    if (mkdir((dev + name).c_str(), 0755) != 0) return failed(name);
  }
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (syscall(SYS_mount_setattr, AT_FDCWD, dev.c_str(), 0, &attributes, sizeof attributes) != 0)
    return failed("they can't be made read-only");
  return {};
}

Result<core::UniqueFd> copy_devices(const std::filesystem::path& folder) {
  core::UniqueFd copy = copy_mounts(folder.string());
  if (!copy) return failed("they can't be copied");
  return copy;
}

}  // namespace forkpoint::sandbox
