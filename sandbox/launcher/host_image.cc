#include "sandbox/launcher/host_image.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/file.h"
#include "sandbox/failure.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

Error failed(const fs::path& path) {
  return host_failure("image_failed", "'" + path.string() + "' can't be made");
}

bool own(const fs::path& path, std::int64_t owner) {
  return owner < 0 || lchown(path.c_str(), static_cast<uid_t>(owner), static_cast<gid_t>(owner)) == 0;
}

Result<void> make_folder(const fs::path& path, mode_t mode, std::int64_t owner) {
  if ((mkdir(path.c_str(), mode) != 0 && errno != EEXIST) || chmod(path.c_str(), mode) != 0 ||
      !own(path, owner))
    return failed(path);
  return {};
}

// Below the root of a machine whose /bin is a link into /usr those links, else whole folders.
constexpr std::array<const char*, 6> kProgramFolders = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

// An empty file, or an empty opaque folder, for everything that not everybody may read.
Result<void> mask_folder(const fs::path& source, const fs::path& mask, OverlayXattrs xattrs,
                         std::int64_t owner) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(source, ignored)) {
    struct stat status {};
    if (lstat(entry.path().c_str(), &status) != 0 || S_ISLNK(status.st_mode)) continue;
    const fs::path target = mask / entry.path().filename();
    const bool folder = S_ISDIR(status.st_mode);
    if (is_public(status)) {
      if (!folder) continue;
      // Made for what may be in it, and taken away again if nothing is: it must look like the one below.
      FORKPOINT_RETURN_IF_ERROR(make_folder(target, status.st_mode & 07777, owner));
      FORKPOINT_RETURN_IF_ERROR(mask_folder(entry.path(), target, xattrs, owner));
      rmdir(target.c_str());
    } else if (folder) {
      FORKPOINT_RETURN_IF_ERROR(make_folder(target, 0700, owner));
      const char* name = xattrs == OverlayXattrs::trusted ? "trusted.overlay.opaque" : "user.overlay.opaque";
      if (setxattr(target.c_str(), name, "y", 1, 0) != 0) return failed(target);
    } else {
      FORKPOINT_RETURN_IF_ERROR(core::write_file(target, ""));
      if (chmod(target.c_str(), 0600) != 0 || !own(target, owner)) return failed(target);
    }
  }
  return {};
}

Result<void> write_etc(const fs::path& mask, std::int64_t owner) {
  // The machine's name and neighbours are nobody's business, and differ from machine to machine.
  FORKPOINT_RETURN_IF_ERROR(core::write_file(mask / "hostname", "sandbox\n"));
  FORKPOINT_RETURN_IF_ERROR(core::write_file(mask / "hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"));
  for (const char* name : {"hostname", "hosts"}) {
    if (chmod((mask / name).c_str(), 0644) != 0 || !own(mask / name, owner)) return failed(mask / name);
  }
  return {};
}

}  // namespace

bool is_public(const struct stat& status) {
  const mode_t needed = S_ISDIR(status.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
  return (status.st_mode & needed) == needed;
}

Result<fs::path> make_skeleton(const fs::path& folder, bool with_host_links, std::int64_t owner) {
  struct Wanted {
    const char* path;
    mode_t mode;
  };
  constexpr Wanted kWanted[] = {
      {"dev", 0755},     {"etc", 0755},     {"home", 0755},     {"mnt", 0755},       {"opt", 0755},
      {"proc", 0555},    {"root", 0700},    {"run", 0755},      {"run/lock", 01777}, {"srv", 0755},
      {"sys", 0555},     {"tmp", 01777},    {"usr", 0755},      {"var", 0755},       {"var/cache", 0755},
      {"var/lib", 0755}, {"var/log", 0755}, {"var/tmp", 01777}, {"workspace", 0755}};
  FORKPOINT_RETURN_IF_ERROR(make_folder(folder, 0755, owner));
  for (const auto& [path, mode] : kWanted) FORKPOINT_RETURN_IF_ERROR(make_folder(folder / path, mode, owner));
  if (symlink("/run", (folder / "var/run").c_str()) != 0 && errno != EEXIST)
    return failed(folder / "var/run");
  if (!own(folder / "var/run", owner)) return failed(folder / "var/run");
  if (!with_host_links) return folder;
  for (const char* name : kProgramFolders) {
    const fs::path source = fs::path("/") / name;
    std::error_code ignored;
    if (fs::is_symlink(source, ignored)) {
      fs::copy_symlink(source, folder / name, ignored);
      own(folder / name, owner);
    } else if (fs::is_directory(source, ignored)) {
      FORKPOINT_RETURN_IF_ERROR(make_folder(folder / name, 0755, owner));
    }
  }
  return folder;
}

Result<std::vector<ImageVolume>> make_host_image(const fs::path& folder, OverlayXattrs xattrs,
                                                 std::int64_t owner) {
  FORKPOINT_RETURN_IF_ERROR(make_folder(folder, 0711, owner));
  FORKPOINT_ASSIGN_OR_RETURN(const fs::path skeleton, make_skeleton(folder / "root", true, owner));
  const fs::path mask = folder / "etc";
  FORKPOINT_RETURN_IF_ERROR(make_folder(mask, 0755, owner));
  FORKPOINT_RETURN_IF_ERROR(mask_folder("/etc", mask, xattrs, owner));
  FORKPOINT_RETURN_IF_ERROR(write_etc(mask, owner));
  std::vector<ImageVolume> volumes = {
      {"/", {skeleton}, {}}, {"/usr", {}, {"/usr"}}, {"/etc", {mask}, {"/etc"}}};
  std::error_code ignored;
  if (fs::is_directory("/opt", ignored) && !fs::is_empty("/opt", ignored))
    volumes.push_back({"/opt", {}, {"/opt"}});
  for (const char* name : kProgramFolders) {
    const fs::path source = fs::path("/") / name;
    if (!fs::is_symlink(source, ignored) && fs::is_directory(source, ignored))
      volumes.push_back({source.string(), {}, {source}});
  }
  return volumes;
}

}  // namespace forkpoint::sandbox
