#include "sandbox/squash.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/temp_dir.h"
#include "sandbox/copy_file.h"
#include "sandbox/layer_file.h"

namespace forkpoint::sandbox {
namespace {

const ViewEntry* named(const std::vector<ViewEntry>& entries, const std::string& name) {
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), name,
                       [](const ViewEntry& entry, const std::string& wanted) { return entry.name < wanted; });
  return at != entries.end() && at->name == name ? &*at : nullptr;
}

class Squasher {
 public:
  Squasher(const std::vector<std::filesystem::path>& layers, std::size_t count, OverlayXattrs xattrs)
      : whole_(layers, xattrs), count_(count), prefix_(xattr_prefix(xattrs)) {
    if (count == layers.size()) return;
    rest_.emplace(std::vector(layers.begin() + static_cast<std::ptrdiff_t>(count), layers.end()), xattrs);
  }

  Result<void> run(const std::filesystem::path& into) {
    FORKPOINT_ASSIGN_OR_RETURN(const ViewEntry root, whole_.find(""));
    if (!rest_) return folder(root, nullptr, into);
    FORKPOINT_ASSIGN_OR_RETURN(const ViewEntry beneath, rest_->find(""));
    return folder(root, &beneath, into);
  }

 private:
  // Writes a folder of the whole stack. `beneath` is what the remaining layers show in its place, nullptr if
  // nothing: what the folder would be merged with if it had no mark.
  Result<void> folder(const ViewEntry& entry, const ViewEntry* beneath, const std::filesystem::path& into) {
    if (::mkdir(into.c_str(), 0700) != 0) return layer_unwritable(into, "made");
    if (beneath != nullptr && beneath->type != 'd') beneath = nullptr;  // is hidden by any folder
    const bool merged = beneath != nullptr && continues_in(entry, *beneath);
    if (beneath != nullptr && !merged) FORKPOINT_RETURN_IF_ERROR(mark_opaque(into));

    FORKPOINT_ASSIGN_OR_RETURN(const std::vector<ViewEntry> entries, whole_.list(entry));
    std::vector<ViewEntry> hidden;
    if (merged) {
      FORKPOINT_ASSIGN_OR_RETURN(hidden, rest_->list(*beneath));
    }
    for (const ViewEntry& child : entries) {
      if (merged && child.layer >= count_) continue;  // shows through
      const std::string path = path_in(into, child.name);
      if (child.type == 'd') {
        FORKPOINT_RETURN_IF_ERROR(folder(child, named(hidden, child.name), path));
      } else {
        FORKPOINT_RETURN_IF_ERROR(file(child, path));
      }
    }
    for (const ViewEntry& below : hidden) {
      if (named(entries, below.name) != nullptr) continue;
      const std::string path = path_in(into, below.name);
      if (::mknod(path.c_str(), S_IFCHR, 0) != 0) return layer_unwritable(path, "made a whiteout");
    }
    FORKPOINT_ASSIGN_OR_RETURN(const struct stat status, existing_status_of(entry.sources.front()));
    return copy_attributes(entry.sources.front(), status, into, filter());
  }

  // Whether the remaining layers' part of a folder is the folder that they show in the same place.
  bool continues_in(const ViewEntry& entry, const ViewEntry& beneath) const {
    const auto first = std::lower_bound(entry.source_layers.begin(), entry.source_layers.end(), count_);
    const auto own = first - entry.source_layers.begin();
    return std::equal(entry.sources.begin() + own, entry.sources.end(), beneath.sources.begin(),
                      beneath.sources.end());
  }

  Result<void> file(const ViewEntry& entry, const std::string& path) {
    if (entry.layer < count_ && ::link(entry.source.c_str(), path.c_str()) == 0) return {};
    if (entry.layer < count_ && errno != EMLINK && errno != EPERM && errno != EXDEV) {
      return layer_unwritable(path, "linked");
    }
    return copy_file(entry.source, path, filter());
  }

  Result<void> mark_opaque(const std::filesystem::path& path) const {
    if (::lsetxattr(path.c_str(), (prefix_ + "opaque").c_str(), "y", 1, 0) == 0) return {};
    return layer_unwritable(path, "marked opaque");
  }

  // Leaves out overlayfs's own xattrs, which speak of the layer they are in. "overlay.overlay." stays: that
  // is one which someone set inside a mount, in the kernel's disguise.
  XattrFilter filter() const {
    return [this](std::string_view name) {
      return !name.starts_with(prefix_) || name.substr(prefix_.size()).starts_with("overlay.");
    };
  }

  OverlayView whole_;
  std::optional<OverlayView> rest_;
  std::size_t count_;
  std::string prefix_;
};

}  // namespace

Result<void> squash(const std::vector<std::filesystem::path>& layers, std::size_t count, OverlayXattrs xattrs,
                    const std::filesystem::path& into) {
  FORKPOINT_CHECK(count > 0 && count <= layers.size(), "no such number of layers to squash");
  FORKPOINT_ASSIGN_OR_RETURN(const std::optional<struct stat> there, status_of(into));
  if (there) {
    errno = EEXIST;
    return layer_unwritable(into, "made");
  }
  Result<void> written = Squasher(layers, count, xattrs).run(into);
  if (!written) {
    // The first error is the one to report.
    if (const Result<void> removed = core::remove_tree(into); !removed) {
      written.error() = std::move(written.error()).within("squashing, and leaving a part behind");
    }
  }
  return written;
}

}  // namespace forkpoint::sandbox
