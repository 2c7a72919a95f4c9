#include "sandbox/launcher/state_folder.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/file.h"
#include "core/temp_dir.h"
#include "sandbox/failure.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr char kIdLetters[] = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kIdLength = 12;

std::string random_id() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = static_cast<std::uint64_t>(getpid());
  std::string text;
  for (std::size_t i = 0; i < kIdLength; ++i, bits >>= 5) text += kIdLetters[bits & 31];
  return text;
}

Error failed(std::string message) { return host_failure("state_folder_failed", std::move(message)); }

bool make_owned(const fs::path& path, mode_t mode, std::int64_t owner) {
  if (mkdir(path.c_str(), mode) != 0) return false;
  if (owner >= 0) return lchown(path.c_str(), static_cast<uid_t>(owner), static_cast<gid_t>(owner)) == 0;
  return true;
}

// Sandboxes come and go, and ext4 puts what is made in a folder near it: without a journal it then looks
// through all inodes that were freed there of late, each time. As a "top folder" it has its subfolders
// anywhere. Other file systems have no such flag and no such trouble.
void spread_over_disk(const fs::path& folder) {
  const core::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int flags = 0;
  if (ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_TOPDIR_FL;
  (void)ioctl(fd.get(), FS_IOC_SETFLAGS, &flags);
}

// In a folder that everybody may write to, such as /var/tmp, somebody else may have been first. A group that
// another launcher of ours has let in stays.
Result<void> make_private_base(const fs::path& base, std::int64_t group) {
  FORKPOINT_RETURN_IF_ERROR(core::make_folders(base));
  struct stat status {};
  if (lstat(base.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
    errno = EPERM;
    return failed("'" + base.string() + "' is not a folder of ours");
  }
  if ((status.st_mode & 0067) != 0 && chmod(base.c_str(), 0700) != 0)
    return failed("'" + base.string() + "' can't be made private");
  if (group >= 0 && (chown(base.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(group)) != 0 ||
                     chmod(base.c_str(), 0710) != 0))
    return failed("'" + base.string() + "' can't be opened to sandboxes");
  return {};
}

}  // namespace

Result<StateFolder> StateFolder::create(const fs::path& base, std::int64_t owner, std::int64_t group) {
  FORKPOINT_RETURN_IF_ERROR(make_private_base(base, group));
  StateFolder folder;
  folder.id_ = random_id();
  folder.owner_ = owner;
  // Nobody may take it for a dead one's before the lock is held, so it gets its name last.
  const fs::path unnamed = base / (".new-" + folder.id_);
  if (!make_owned(unnamed, 0711, owner)) return failed("'" + unnamed.string() + "' can't be made");
  folder.lock_.reset(open((unnamed / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!folder.lock_ || flock(folder.lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return failed("the launcher's lock can't be taken");
  for (const char* name : {"layers", "live", "gone", "mount"}) {
    if (!make_owned(unnamed / name, 0711, owner))
      return failed("'" + (unnamed / name).string() + "' can't be made");
  }
  spread_over_disk(unnamed / "live");
  folder.path_ = base / folder.id_;
  if (rename(unnamed.c_str(), folder.path_.c_str()) != 0)
    return failed("'" + folder.path_.string() + "' can't be made");
  return folder;
}

Result<fs::path> StateFolder::make_live_folder() {
  const fs::path path = path_ / "live" / std::to_string(next_++);
  if (mkdir(path.c_str(), 0711) != 0) return failed("'" + path.string() + "' can't be made");
  return path;
}

fs::path StateFolder::new_layer_path() { return path_ / "layers" / std::to_string(next_++); }

fs::path StateFolder::set_aside(const fs::path& folder) {
  const fs::path gone = path_ / "gone" / std::to_string(next_++);
  return rename(folder.c_str(), gone.c_str()) == 0 ? gone : fs::path();
}

namespace {

// As random_id() makes them: images and unnamed folders beside us are something else.
bool is_id(const std::string& name) {
  return name.size() == kIdLength && name.find_first_not_of(kIdLetters) == std::string::npos;
}

// Its lock can be had; or it is gone, since somebody began to remove the folder and could not end.
bool is_dead(const fs::path& folder) {
  const core::UniqueFd lock(open((folder / "lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return lock ? flock(lock.get(), LOCK_EX | LOCK_NB) == 0 : errno == ENOENT;
}

}  // namespace

std::vector<std::string> sweep_state_folders(const fs::path& base) {
  std::vector<std::string> dead;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(base, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!is_id(name) || !is_dead(entry.path())) continue;
    dead.push_back(name);
    (void)core::remove_tree(entry.path());
  }
  return dead;
}

}  // namespace forkpoint::sandbox
