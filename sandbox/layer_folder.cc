#include "sandbox/layer_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "core/file.h"
#include "core/temp_dir.h"
#include "sandbox/image_error.h"

namespace forkpoint::sandbox {
namespace {

using core::UniqueFd;

constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;

Error leaves(const std::string& path) {
  return bad_image(fmt::format("{}: a link on the way leaves the image", path));
}

}  // namespace

Result<std::string> normal_path(std::string_view name) {
  std::string path;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return bad_image(fmt::format("{}: the name leaves the image", name));
    if (part.size() > NAME_MAX) return bad_image(fmt::format("{:.80}...: the name is too long", part));
    if (!path.empty()) path += '/';
    path += part;
  }
  if (path.size() >= PATH_MAX) return bad_image(fmt::format("{:.80}...: the name is too long", path));
  return path;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string last_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

UniqueFd open_beneath(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const std::string& name = path.empty() ? "." : path;
  long fd = -1;
  // EAGAIN: a rename anywhere on the machine came between, the kernel can't tell whether it mattered.
  for (int attempt = 0; attempt < 100; ++attempt) {
    fd = ::syscall(SYS_openat2, root, name.c_str(), &how, sizeof how);
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return UniqueFd(static_cast<int>(fd));
}

Result<LayerFolder> LayerFolder::open(const std::filesystem::path& path) {
  UniqueFd root(::open(path.c_str(), kFolderFlags));
  if (!root) return core::file_unwritable(path);
  return LayerFolder(path, std::move(root));
}

Result<ParentFolder> LayerFolder::make_parent(const std::string& path) const {
  ParentFolder parent;
  const std::string folder = parent_of(path);
  parent.fd = open_beneath(root_.get(), folder, kFolderFlags);
  if (parent.fd) return parent;
  if (errno == EXDEV) return leaves(path);

  parent.fd = open_beneath(root_.get(), "", kFolderFlags);
  if (!parent.fd) return core::file_unwritable(path_);
  for (std::size_t at = 0; at < folder.size();) {
    at = std::min(folder.find('/', at + 1), folder.size());
    const std::string prefix = folder.substr(0, at);
    bool made = false;
    FORKPOINT_ASSIGN_OR_RETURN(parent.fd, step_down(parent.fd.get(), prefix, made));
    if (made) parent.made.push_back(prefix);
  }
  return parent;
}

// The folder at `path`, whose parent is open already.
Result<UniqueFd> LayerFolder::step_down(int parent, const std::string& path, bool& made) const {
  const std::string name = last_of(path);
  UniqueFd folder = open_beneath(root_.get(), path, kFolderFlags);
  if (folder) return folder;
  if (errno == EXDEV) return leaves(path);
  FORKPOINT_RETURN_IF_ERROR(remove(parent, name));  // a file, a link to one, a link to nothing
  if (::mkdirat(parent, name.c_str(), 0700) != 0) return core::file_unwritable(path_ / path);
  made = true;
  folder = UniqueFd(::openat(parent, name.c_str(), kFolderFlags | O_NOFOLLOW));
  if (!folder) return core::file_unwritable(path_ / path);
  return folder;
}

Result<UniqueFd> LayerFolder::find_folder(const std::string& path, LastLink last_link) const {
  const int no_follow = last_link == LastLink::refuse ? O_NOFOLLOW : 0;
  UniqueFd folder = open_beneath(root_.get(), path, O_RDONLY | O_DIRECTORY | no_follow);
  if (folder || errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return folder;
  if (errno == EXDEV) return leaves(path);
  return core::file_unwritable(path_ / path);
}

Result<void> LayerFolder::remove(int parent, const std::string& name) const {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR) return core::file_unwritable(path_ / name);
  // A folder. The path through /proc names it by the descriptor, whatever links led there.
  return core::remove_tree(fmt::format("/proc/self/fd/{}/{}", parent, name));
}

}  // namespace forkpoint::sandbox
