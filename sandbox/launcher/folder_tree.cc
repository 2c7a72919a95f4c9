#include "sandbox/launcher/folder_tree.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/unique_fd.h"
#include "sandbox/copy_file.h"
#include "sandbox/failure.h"
#include "sandbox/inside_path.h"
#include "sandbox/layer_file.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

// Each level holds two descriptors.
constexpr int kDepthMax = 400;

// A path of any depth: from a folder that is open.
std::string path_at(int folder, std::string_view name) {
  return path_in("/proc/self/fd/" + std::to_string(folder), name);
}

core::UniqueFd open_folder(const std::string& path) {
  return core::UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Gives the owner what a copy needs of a file that its owner has shut, for as long as it is copied. Root
// needs none of that.
class Opened {
 public:
  Opened(const std::string& path, const struct stat& status) : path_(path), mode_(status.st_mode & 07777U) {
    if (S_ISLNK(status.st_mode) || geteuid() == 0) return;
    const mode_t needed = S_ISDIR(status.st_mode) ? 0500U : 0400U;
    changed_ = (mode_ & needed) != needed && chmod(path_.c_str(), mode_ | needed) == 0;
  }
  ~Opened() {
    if (changed_) chmod(path_.c_str(), mode_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  std::string path_;
  mode_t mode_;
  bool changed_ = false;
};

// A lease on reading is refused while anybody has the file open for writing.
bool is_open_for_writing(const std::string& path) {
  const core::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return false;
  if (fcntl(fd.get(), F_SETLEASE, F_RDLCK) == 0) return fcntl(fd.get(), F_SETLEASE, F_UNLCK), false;
  return errno == EAGAIN;
}

class TreeCopy {
 public:
  TreeCopy(std::int64_t owner, bool quiet) : owner_(owner), quiet_(quiet) {}

  // The folder at `source` as the new folder `target`.
  Result<void> run(const fs::path& source, const fs::path& target) {
    FORKPOINT_ASSIGN_OR_RETURN(const struct stat status, status_for_copy(source));
    source_ = source;
    target_ = target;
    device_ = status.st_dev;
    // Two that copy from one tree would see what the other has opened up.
    const core::UniqueFd lock = open_folder(source);
    if (lock && geteuid() != 0) flock(lock.get(), LOCK_EX);
    return folder(source, status, target, "", 0);
  }

 private:
  Result<void> folder(const std::string& source, const struct stat& status, const std::string& target,
                      const std::string& below, int depth) {
    if (depth > kDepthMax)
      return input_error("too_deep", "folders are nested too deeply to be copied: " + below.substr(0, 200));
    if (mkdir(target.c_str(), 0700) != 0) return layer_unwritable(target, "made");
    const Opened opened(source, status);
    // What is mounted there is not part of the tree; nor is the copy itself, if it lies in there.
    if (status.st_dev == device_ && !is_target(status)) {
      const core::UniqueFd from = open_folder(source);
      if (!from) return layer_unreadable(source, "opened");
      const core::UniqueFd into = open_folder(target);
      if (!into) return layer_unwritable(target);
      if (depth == 0) FORKPOINT_RETURN_IF_ERROR(remember_target(into.get()));
      FORKPOINT_ASSIGN_OR_RETURN(const std::vector<std::string> names, names_in(path_at(from.get(), ".")));
      for (const std::string& name : names) {
        const std::string from_path = path_at(from.get(), name);
        const std::string below_path = path_in(below, name);
        auto copied = entry(from_path, path_at(into.get(), name), below_path, depth);
        if (!copied) return in_words(std::move(copied.error()), from_path, below_path);
      }
    }
    return copy_attributes(source, status, target, wanted());
  }

  Result<void> entry(const std::string& source, const std::string& target, const std::string& below,
                     int depth) {
    FORKPOINT_ASSIGN_OR_RETURN(const struct stat status, status_for_copy(source));
    if (S_ISDIR(status.st_mode)) return folder(source, status, target, below, depth + 1);
    if (status.st_nlink > 1 && is_linked(status, target, below)) return {};
    const Opened opened(source, status);
    if (quiet_ && S_ISREG(status.st_mode) && is_open_for_writing(source)) {
      return input_error("still_written",
                         "a file is still open for writing, so the state can't be frozen: " + below,
                         "close what was opened by write_file(), then try again");
    }
    return copy_file(source, status, target, wanted());
  }

  Result<struct stat> status_for_copy(const fs::path& source) const {
    FORKPOINT_ASSIGN_OR_RETURN(struct stat status, existing_status_of(source));
    status.st_uid = owner_ >= 0 ? static_cast<uid_t>(owner_) : geteuid();
    status.st_gid = owner_ >= 0 ? static_cast<gid_t>(owner_) : getegid();
    return status;
  }

  // Names the file by the path that people know, not by that of a descriptor.
  Error in_words(Error error, const std::string& path, const std::string& below) const {
    const std::size_t at = error.message.find(path);
    if (at != std::string::npos) error.message.replace(at, path.size(), source_.string() + below);
    return error;
  }

  // Whether `target` was made a link to the copy of the same file under another name.
  bool is_linked(const struct stat& status, const std::string& target, const std::string& below) {
    const auto [known, first] = copies_.try_emplace({status.st_dev, status.st_ino}, below);
    if (first) return false;
    const std::string copy = target_.string() + known->second;
    return copy.size() < PATH_MAX && link(copy.c_str(), target.c_str()) == 0;
  }

  Result<void> remember_target(int into) {
    if (fstat(into, &target_status_) != 0) return layer_unwritable(target_);
    return {};
  }
  bool is_target(const struct stat& status) const {
    return status.st_dev == target_status_.st_dev && status.st_ino == target_status_.st_ino;
  }

  // Another overlay's marks would be taken for ours when changes are looked for.
  static XattrFilter wanted() {
    return [](std::string_view name) { return !name.starts_with("trusted.overlay."); };
  }

  std::int64_t owner_;
  bool quiet_;  // nobody may be writing
  fs::path source_;
  fs::path target_;
  dev_t device_ = 0;
  struct stat target_status_ {};
  std::map<std::pair<dev_t, ino_t>, std::string> copies_;  // where the first copy of a file with links is
};

Result<void> make_folder(const fs::path& path, mode_t mode, std::int64_t owner) {
  if (mkdir(path.c_str(), 0700) != 0 || chmod(path.c_str(), mode) != 0) return layer_unwritable(path, "made");
  if (owner >= 0 && chown(path.c_str(), static_cast<uid_t>(owner), static_cast<gid_t>(owner)) != 0)
    return layer_unwritable(path, "given its owner");
  return {};
}

}  // namespace

std::map<std::string, std::string> FolderTree::environment() const {
  const passwd* user = owner < 0 ? getpwuid(geteuid()) : nullptr;
  const std::string name = user != nullptr ? user->pw_name : "sandbox";
  return {{"HOME", root() / "home"}, {"TMPDIR", root() / "tmp"}, {"USER", name}, {"LOGNAME", name}};
}

Result<void> make_first_state(const fs::path& into, const fs::path& workspace) {
  FORKPOINT_RETURN_IF_ERROR(make_folder(into, 0700, -1));
  for (const std::string_view name : kStateFolders) {
    const fs::path path = into / name;
    if (name == "workspace" && !workspace.empty()) {
      FORKPOINT_RETURN_IF_ERROR(TreeCopy(-1, false).run(workspace, path));
    } else {
      FORKPOINT_RETURN_IF_ERROR(make_folder(path, name == "tmp" ? 01777 : 0755, -1));
    }
  }
  return {};
}

Result<void> make_folder_tree(const FolderTree& tree, const fs::path& state) {
  FORKPOINT_RETURN_IF_ERROR(TreeCopy(tree.owner, false).run(state, tree.root()));
  return make_folder(tree.channel(), 0700, tree.owner);
}

Result<void> copy_state(const FolderTree& tree, const fs::path& into) {
  return TreeCopy(-1, true).run(tree.root(), into);
}

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code ignored;
  for (auto entry =
           fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored);
       !ignored && entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
    struct stat status {};
    if (lstat(entry->path().c_str(), &status) == 0)
      bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

}  // namespace forkpoint::sandbox
