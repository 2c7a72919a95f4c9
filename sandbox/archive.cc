#include "sandbox/archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/unique_fd.h"
#include "sandbox/image_error.h"
#include "sandbox/layer_folder.h"
#include "sandbox/overlay_marks.h"

namespace forkpoint::sandbox {
namespace {

using core::UniqueFd;

// Names of folders and whiteouts are kept in memory to the end of an archive, which could have millions of
// long ones.
constexpr std::uint64_t kKeptNamesBytesMax = std::uint64_t{256} << 20;

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kAufs = ".wh..wh.";  // aufs's own files: no content of the image

bool lies_among_aufs_files(const std::string& path) {
  return path.starts_with(kAufs) || path.find("/" + std::string(kAufs)) != std::string::npos;
}

// What a folder gets at the end: before, it must be writable, and its time would change with each entry.
struct FolderAttributes {
  mode_t mode = 0755;
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::optional<timespec> mtime;
};

class Unpacker {
 public:
  Unpacker(TarReader& reader, LayerFolder folder, const UnpackRules& rules, UnpackBudget& budget)
      : reader_(reader), folder_(std::move(folder)), rules_(rules), budget_(budget) {
    folders_[""];  // an archive without an entry for the root: 0755
  }

  Result<void> run();

 private:
  Result<void> unpack(const TarEntry& entry);
  Result<void> remember_whiteout(const std::string& path);
  Result<void> make_entry(const TarEntry& entry, const std::string& path);
  Result<void> make_folder(const TarEntry& entry, const std::string& path, int parent);
  Result<void> make_file(const TarEntry& entry, const std::string& path, int parent);
  Result<void> make_symlink(const TarEntry& entry, const std::string& path, int parent);
  Result<void> make_hard_link(const TarEntry& entry, const std::string& path, int parent);
  Result<void> make_fifo(const TarEntry& entry, const std::string& path, int parent);
  Result<void> copy_bytes(const TarEntry& entry, const std::string& path, int file);
  Result<void> give_to_owner(std::int64_t uid, std::int64_t gid, const std::string& path, int parent,
                             const std::string& name) const;
  Result<void> take_made(const std::vector<std::string>& made);
  Result<void> keep_name(const std::string& path);
  Result<void> hide_what_lies_below();
  Result<void> finish_folders();

  Error unwritable(const std::string& path) const { return core::file_unwritable(folder_.path() / path); }
  std::string in_archive(const std::string& path) const {
    return fmt::format("{}: {}", reader_.name(), path);
  }

  TarReader& reader_;
  LayerFolder folder_;
  const UnpackRules& rules_;
  UnpackBudget& budget_;
  std::map<std::string, FolderAttributes> folders_;
  std::set<std::string> opaque_;
  std::set<std::string> whiteouts_;  // paths of what they hide
  std::uint64_t kept_names_bytes_ = 0;
};

Result<void> Unpacker::run() {
  while (true) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<TarEntry> entry, reader_.next());
    if (!entry) break;
    FORKPOINT_RETURN_IF_ERROR(unpack(*entry));
  }
  FORKPOINT_RETURN_IF_ERROR(hide_what_lies_below());
  return finish_folders();
}

Result<void> Unpacker::unpack(const TarEntry& entry) {
  FORKPOINT_RETURN_IF_ERROR(budget_.take_file(reader_.name()));
  const Result<std::string> path = normal_path(entry.path);
  if (!path) return Error(path.error()).within(reader_.name());
  if (rules_.is_wanted && !rules_.is_wanted(*path)) return {};
  const std::string name = last_of(*path);
  if (name == kOpaque) {
    opaque_.insert(parent_of(*path));
    return keep_name(*path);
  }
  if (lies_among_aufs_files(*path)) return {};
  if (name.starts_with(kWhiteout)) return remember_whiteout(*path);
  return make_entry(entry, *path);
}

Result<void> Unpacker::remember_whiteout(const std::string& path) {
  const std::string hidden = last_of(path).substr(kWhiteout.size());
  if (hidden.empty() || hidden == "." || hidden == "..") {
    return bad_image(fmt::format("{}: a whiteout of nothing", in_archive(path)));
  }
  FORKPOINT_RETURN_IF_ERROR(keep_name(path));
  const std::string folder = parent_of(path);
  whiteouts_.insert(folder.empty() ? hidden : folder + "/" + hidden);
  return {};
}

Result<void> Unpacker::make_entry(const TarEntry& entry, const std::string& path) {
  if (path.empty() && entry.type != TarEntryType::folder) {
    return bad_image(fmt::format("{}: the root is not a folder", reader_.name()));
  }
  // Before the way there is made: entries that are passed over leave nothing.
  if (entry.type == TarEntryType::other) return {};
  Result<ParentFolder> parent = folder_.make_parent(path);
  if (!parent) return std::move(parent.error()).within(reader_.name());
  FORKPOINT_RETURN_IF_ERROR(take_made(parent->made));
  const int fd = parent->fd.get();
  switch (entry.type) {
    case TarEntryType::file: return make_file(entry, path, fd);
    case TarEntryType::folder: return make_folder(entry, path, fd);
    case TarEntryType::symlink: return make_symlink(entry, path, fd);
    case TarEntryType::hard_link: return make_hard_link(entry, path, fd);
    case TarEntryType::fifo: return make_fifo(entry, path, fd);
    case TarEntryType::other: break;
  }
  return {};
}

Result<void> Unpacker::make_folder(const TarEntry& entry, const std::string& path, int parent) {
  const std::string name = last_of(path);
  struct stat status {};
  const bool is_there = path.empty() || (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                                         S_ISDIR(status.st_mode));
  if (!is_there) {
    FORKPOINT_RETURN_IF_ERROR(folder_.remove(parent, name));
    if (::mkdirat(parent, name.c_str(), 0700) != 0) return unwritable(path);
  }
  FORKPOINT_RETURN_IF_ERROR(keep_name(path));
  folders_[path] = {.mode = entry.mode, .uid = entry.uid, .gid = entry.gid, .mtime = entry.mtime};
  return {};
}

Result<void> Unpacker::make_file(const TarEntry& entry, const std::string& path, int parent) {
  const std::string name = last_of(path);
  FORKPOINT_RETURN_IF_ERROR(budget_.take_bytes(entry.size_bytes, in_archive(path)));
  FORKPOINT_RETURN_IF_ERROR(folder_.remove(parent, name));
  const UniqueFd file(
      ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return unwritable(path);
  FORKPOINT_RETURN_IF_ERROR(copy_bytes(entry, path, file.get()));
  FORKPOINT_RETURN_IF_ERROR(give_to_owner(entry.uid, entry.gid, path, parent, name));
  // After the change of owner, which takes setuid away.
  const timespec times[2] = {entry.mtime, entry.mtime};
  if (::fchmod(file.get(), entry.mode) != 0 || ::futimens(file.get(), times) != 0) return unwritable(path);
  return {};
}

Result<void> Unpacker::copy_bytes(const TarEntry& entry, const std::string& path, int file) {
  while (true) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<TarBlock> block, reader_.read());
    if (!block) break;
    // No more than the budget was charged for.
    if (block->offset_bytes > entry.size_bytes ||
        block->bytes.size() > entry.size_bytes - block->offset_bytes) {
      return bad_image(fmt::format("{}: longer than it claims", in_archive(path)));
    }
    if (::lseek(file, static_cast<off_t>(block->offset_bytes), SEEK_SET) < 0) return unwritable(path);
    FORKPOINT_RETURN_IF_ERROR(core::write_all(file, block->bytes, folder_.path() / path));
  }
  // A hole at the end.
  if (::ftruncate(file, static_cast<off_t>(entry.size_bytes)) != 0) return unwritable(path);
  return {};
}

Result<void> Unpacker::make_symlink(const TarEntry& entry, const std::string& path, int parent) {
  const std::string name = last_of(path);
  // Where it leads is the sandbox's affair; here nothing follows it out (layer_folder.h).
  if (entry.target.empty() || entry.target.size() >= PATH_MAX) {
    return bad_image(fmt::format("{}: a link to nowhere", in_archive(path)));
  }
  FORKPOINT_RETURN_IF_ERROR(folder_.remove(parent, name));
  if (::symlinkat(entry.target.c_str(), parent, name.c_str()) != 0) return unwritable(path);
  FORKPOINT_RETURN_IF_ERROR(give_to_owner(entry.uid, entry.gid, path, parent, name));
  const timespec times[2] = {entry.mtime, entry.mtime};
  if (::utimensat(parent, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) return unwritable(path);
  return {};
}

Result<void> Unpacker::make_hard_link(const TarEntry& entry, const std::string& path, int parent) {
  Result<std::string> target = normal_path(entry.target);
  if (!target) return std::move(target.error()).within(in_archive(path));
  const auto missing = [&] {
    return bad_image(fmt::format("{}: a hard link to {}, which is no file here", in_archive(path), *target));
  };
  FORKPOINT_ASSIGN_OR_RETURN(const UniqueFd folder,
                             folder_.find_folder(parent_of(*target), LayerFolder::LastLink::follow));
  const std::string target_name = last_of(*target);
  const std::string name = last_of(path);
  struct stat of_target {};
  if (!folder || target->empty() ||
      ::fstatat(folder.get(), target_name.c_str(), &of_target, AT_SYMLINK_NOFOLLOW) != 0 ||
      S_ISDIR(of_target.st_mode)) {
    return missing();
  }
  // To itself: clearing the way would remove the target.
  struct stat of_name {};
  if (::fstatat(parent, name.c_str(), &of_name, AT_SYMLINK_NOFOLLOW) == 0 &&
      of_name.st_ino == of_target.st_ino) {
    return {};
  }
  FORKPOINT_RETURN_IF_ERROR(folder_.remove(parent, name));
  if (::linkat(folder.get(), target_name.c_str(), parent, name.c_str(), 0) == 0) return {};
  // ENOENT: the target lay in what was cleared away.
  if (errno == ENOENT) return missing();
  return unwritable(path);
}

Result<void> Unpacker::make_fifo(const TarEntry& entry, const std::string& path, int parent) {
  const std::string name = last_of(path);
  FORKPOINT_RETURN_IF_ERROR(folder_.remove(parent, name));
  if (::mkfifoat(parent, name.c_str(), 0600) != 0) return unwritable(path);
  FORKPOINT_RETURN_IF_ERROR(give_to_owner(entry.uid, entry.gid, path, parent, name));
  const timespec times[2] = {entry.mtime, entry.mtime};
  if (::fchmodat(parent, name.c_str(), entry.mode, 0) != 0 ||
      ::utimensat(parent, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
    return unwritable(path);
  }
  return {};
}

// `name` empty: `parent` itself.
Result<void> Unpacker::give_to_owner(std::int64_t uid, std::int64_t gid, const std::string& path, int parent,
                                     const std::string& name) const {
  if (rules_.uid_base < 0) return {};
  // The last id stands for "leave as it is".
  const std::int64_t id_max = std::int64_t{UINT32_MAX} - 1 - rules_.uid_base;
  if (uid < 0 || gid < 0 || uid > id_max || gid > id_max) {
    return bad_image(fmt::format("{}: owner {}:{} is out of range", in_archive(path), uid, gid));
  }
  if (::fchownat(parent, name.c_str(), static_cast<uid_t>(rules_.uid_base + uid),
                 static_cast<gid_t>(rules_.uid_base + gid), AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0) {
    return unwritable(path);
  }
  return {};
}

// Folders that no entry named: charged and finished like any other.
Result<void> Unpacker::take_made(const std::vector<std::string>& made) {
  for (const std::string& path : made) {
    FORKPOINT_RETURN_IF_ERROR(budget_.take_file(reader_.name()));
    FORKPOINT_RETURN_IF_ERROR(keep_name(path));
    folders_[path] = {};
  }
  return {};
}

Result<void> Unpacker::keep_name(const std::string& path) {
  kept_names_bytes_ += path.size();
  if (kept_names_bytes_ <= kKeptNamesBytesMax) return {};
  return image_too_large(
      fmt::format("{}: names of folders take more than {} MiB", reader_.name(), kKeptNamesBytesMax >> 20));
}

// Turns the deletions into marks. What the layer has itself under such a name stays; of a folder, the content
// below is hidden.
Result<void> Unpacker::hide_what_lies_below() {
  std::set<std::string> to_mark;
  for (const std::string& path : whiteouts_) {
    const std::string folder = parent_of(path);
    if (opaque_.contains(folder)) continue;
    FORKPOINT_ASSIGN_OR_RETURN(const ParentFolder parent, folder_.make_parent(path));
    FORKPOINT_RETURN_IF_ERROR(take_made(parent.made));
    struct stat status {};
    if (::fstatat(parent.fd.get(), last_of(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      to_mark.insert(path);
    } else if (S_ISDIR(status.st_mode)) {
      opaque_.insert(path);
    }
  }
  for (const std::string& path : opaque_) {
    // Made where the layer records nothing but that the folder is to be empty.
    FORKPOINT_ASSIGN_OR_RETURN(const ParentFolder parent, folder_.make_parent(path + "/."));
    FORKPOINT_RETURN_IF_ERROR(take_made(parent.made));
    const UniqueFd folder(::openat(parent.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return unwritable(path);
    FORKPOINT_RETURN_IF_ERROR(mark_opaque(folder.get(), rules_.xattrs, folder_.path() / path));
  }
  for (const std::string& path : to_mark) {
    FORKPOINT_ASSIGN_OR_RETURN(const UniqueFd folder,
                               folder_.find_folder(parent_of(path), LayerFolder::LastLink::follow));
    if (!folder) return unwritable(path);
    const std::string in = (folder_.path() / parent_of(path)).native();
    FORKPOINT_RETURN_IF_ERROR(make_whiteout(folder.get(), last_of(path), rules_.xattrs, in));
  }
  return {};
}

// Backwards, so that a folder comes after those in it: it may be one that nobody can pass through.
Result<void> Unpacker::finish_folders() {
  for (auto entry = folders_.rbegin(); entry != folders_.rend(); ++entry) {
    const auto& [path, attributes] = *entry;
    // One that a later entry replaced is gone.
    FORKPOINT_ASSIGN_OR_RETURN(const UniqueFd folder,
                               folder_.find_folder(path, LayerFolder::LastLink::refuse));
    if (!folder) continue;
    FORKPOINT_RETURN_IF_ERROR(give_to_owner(attributes.uid, attributes.gid, path, folder.get(), ""));
    if (::fchmod(folder.get(), attributes.mode) != 0) return unwritable(path);
    if (!attributes.mtime) continue;
    const timespec times[2] = {*attributes.mtime, *attributes.mtime};
    if (::futimens(folder.get(), times) != 0) return unwritable(path);
  }
  return {};
}

}  // namespace

Result<void> UnpackBudget::take_bytes(std::uint64_t count, const std::string& name) {
  if (count > bytes) return image_too_large(fmt::format("{}: larger than what may be unpacked", name));
  bytes -= count;
  return {};
}

Result<void> UnpackBudget::take_file(const std::string& name) {
  if (files == 0) return image_too_large(fmt::format("{}: more files than may be unpacked", name));
  --files;
  return {};
}

std::uint64_t UnpackBudget::tar_bytes_max() const {
  constexpr std::uint64_t kPerFile = 8192;  // its header, a long name, padding
  constexpr std::uint64_t kEnd = 1 << 20;   // marks and padding behind the last
  std::uint64_t sum = 0;
  if (__builtin_mul_overflow(files, kPerFile, &sum) || __builtin_add_overflow(sum, bytes, &sum) ||
      __builtin_add_overflow(sum, kEnd, &sum)) {
    return UINT64_MAX;
  }
  return sum;
}

Result<void> unpack_tar(TarReader& reader, const std::filesystem::path& folder, const UnpackRules& rules,
                        UnpackBudget& budget) {
  FORKPOINT_ASSIGN_OR_RETURN(LayerFolder layer, LayerFolder::open(folder));
  return Unpacker(reader, std::move(layer), rules, budget).run();
}

}  // namespace forkpoint::sandbox
