#include "sandbox/launcher/overlay.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/failure.h"

namespace forkpoint::sandbox {
namespace {

constexpr std::size_t kOptionsBytesMax = 4095;

// A path as an option's value: colons part lowers, commas options.
std::string escaped(const std::filesystem::path& path) {
  std::string text;
  for (const char c : path.string()) {
    if (c == ':' || c == ',' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

OverlayXattrs xattrs_of(Level level) {
  // At L1 there are no overlays; those of "trusted." no sandbox can set, so nothing looks like a mark.
  return level == Level::l2 ? OverlayXattrs::user : OverlayXattrs::trusted;
}

namespace {

bool set_option(int context, const char* key, const std::string& value) {
  return syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, value.c_str(), 0) == 0;
}

// One value may have 255 bytes; Linux 6.5 and newer take one lower at a time.
bool set_lowers(int context, const std::vector<std::filesystem::path>& lowers) {
  constexpr std::size_t kValueBytesMax = 255;
  std::string joined;
  for (const auto& lower : lowers) joined += (joined.empty() ? "" : ":") + escaped(lower);
  if (joined.size() <= kValueBytesMax) return set_option(context, "lowerdir", joined);
  for (const auto& lower : lowers) {
    if (!set_option(context, "lowerdir+", lower.string())) return false;
  }
  return true;
}

// A mount that was never attached anywhere: to attach and unmount it would wait for every processor.
core::UniqueFd mount_detached(const OverlaySpec& spec) {
  const core::UniqueFd context(static_cast<int>(syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC)));
  if (!context || !set_lowers(context.get(), spec.lowers) ||
      !set_option(context.get(), "upperdir", escaped(spec.upper)) ||
      !set_option(context.get(), "workdir", escaped(spec.work)) ||
      syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_FLAG, "volatile", nullptr, 0) != 0) {
    return {};
  }
  const bool last = spec.level == Level::l3 ? set_option(context.get(), "redirect_dir", "on")
                                            : syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_FLAG,
                                                      "userxattr", nullptr, 0) == 0;
  if (!last || syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return core::UniqueFd(static_cast<int>(
      syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID)));
}

}  // namespace

Result<core::UniqueFd> mount_overlay(const OverlaySpec& spec, const std::filesystem::path& mount_point) {
  if (core::UniqueFd detached = mount_detached(spec)) return detached;
  // An older kernel, and many layers.
  std::string options = "lowerdir=";
  for (std::size_t i = 0; i < spec.lowers.size(); ++i)
    options += (i > 0 ? ":" : "") + escaped(spec.lowers[i]);
  options += ",upperdir=" + escaped(spec.upper) + ",workdir=" + escaped(spec.work);
  // volatile: without it the end of a mount syncs the whole file system.
  options += spec.level == Level::l3 ? ",volatile,redirect_dir=on" : ",volatile,userxattr";
  if (options.size() > kOptionsBytesMax) {
    return Error{.boundary = Boundary::sandbox,
                 .code = "too_many_layers",
                 .message = "an image has more layers than fit one mount"};
  }
  if (mount("overlay", mount_point.c_str(), "overlay", MS_NODEV | MS_NOSUID, options.c_str()) != 0) {
    return host_failure("no_overlay", "an overlay can't be mounted (" + options.substr(0, 300) + ")");
  }
  core::UniqueFd fd(static_cast<int>(
      syscall(SYS_open_tree, AT_FDCWD, mount_point.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  const int error = errno;
  umount2(mount_point.c_str(), MNT_DETACH);
  errno = error;
  if (!fd) return host_failure("no_overlay", "an overlay's mount can't be passed on");
  return fd;
}

Result<void> set_read_only(int mount, bool read_only) {
  const core::UniqueFd context(
      static_cast<int>(syscall(SYS_fspick, mount, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC)));
  if (!context) return host_failure("not_frozen", "an overlay can't be reconfigured");
  const char* flag = read_only ? "ro" : "rw";
  if (syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_FLAG, flag, nullptr, 0) == 0 &&
      syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) == 0) {
    return {};
  }
  if (errno == EBUSY) {
    return Error{.boundary = Boundary::sandbox,
                 .fault = Fault::input,
                 .code = "still_written",
                 .message = "a file is still open for writing, so the state can't be frozen",
                 .advice = "close what was opened by write_file(), then try again"};
  }
  return host_failure("not_frozen", "an overlay can't be made read-only");
}

}  // namespace forkpoint::sandbox
