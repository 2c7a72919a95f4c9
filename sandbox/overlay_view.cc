#include "sandbox/overlay_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/check.h"
#include "sandbox/layer_file.h"

namespace forkpoint::sandbox {
namespace {

using Layers = std::vector<std::filesystem::path>;

Error bad_layer(const std::filesystem::path& path, std::string_view what) {
  return Error{.boundary = Boundary::sandbox,
               .code = "bad_layer",
               .message = fmt::format("{}: {}", path.native(), what)};
}

Error no_such_file(std::string_view path) {
  return Error{.boundary = Boundary::sandbox,
               .fault = Fault::input,
               .code = "no_such_file",
               .message = fmt::format("{}: no such file", path)};
}

// Whether the kernel would follow this redirect: one name, or "/" before each of several.
bool is_redirect(std::string_view target) {
  const bool absolute = target.starts_with('/');
  if (!absolute && target.find('/') != std::string_view::npos) return false;
  std::string_view rest = target.substr(absolute ? 1 : 0);
  while (true) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (name.empty() || name == "." || name == "..") return false;
    if (name.size() == rest.size()) return true;
    rest.remove_prefix(name.size() + 1);
  }
}

// One name of one folder, looked up through the layers: what the kernel's ovl_lookup() does, with its rules
// on when to stop and where a renamed folder goes on.
class Lookup {
 public:
  Lookup(const Layers& layers, OverlayXattrs xattrs, std::string_view name)
      : layers_(layers), prefix_(xattr_prefix(xattrs)), wanted_(name) {
    entry_.name = name;
  }

  // Absent where the view shows nothing of that name. The sources before `first` are known not to have it.
  Result<std::optional<ViewEntry>> run(const ViewEntry& folder, std::size_t first) {
    for (std::size_t i = first; !stop_ && !wanted_absolute() && i < folder.sources.size(); ++i) {
      FORKPOINT_RETURN_IF_ERROR(search(folder.sources[i], folder.source_layers[i]));
    }
    // Once a redirect leads elsewhere in the tree, it is not the parent's folders but whole layers that are
    // searched: those beneath the one that has the redirect.
    for (std::size_t i = next_layer_; !stop_ && wanted_absolute() && i < layers_.size(); ++i) {
      FORKPOINT_RETURN_IF_ERROR(search(layers_[i], i));
    }
    if (!found_) return std::optional<ViewEntry>();
    return std::optional(std::move(entry_));
  }

 private:
  bool wanted_absolute() const { return wanted_.starts_with('/'); }

  // Looks for what is wanted below `base`, a folder of that layer.
  Result<void> search(std::string base, std::size_t layer) {
    next_layer_ = layer + 1;
    std::size_t start = wanted_absolute() ? 1 : 0;
    while (true) {
      // A redirect on the way changes what stands before this name, and nothing behind it.
      const std::size_t end = std::min(wanted_.find('/', start), wanted_.size());
      const std::size_t behind = wanted_.size() - end;
      std::string path = path_in(base, std::string_view(wanted_).substr(start, end - start));
      FORKPOINT_ASSIGN_OR_RETURN(const bool go_on, take(path, layer, start, end));
      if (!go_on || behind == 0) return {};
      base = std::move(path);
      start = wanted_.size() - behind + 1;
    }
  }

  // Takes what lies at `path`, for the name at wanted_[start, end); false if there is nothing to descend
  // into.
  Result<bool> take(const std::string& path, std::size_t layer, std::size_t start, std::size_t end) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<struct stat> status, status_of(path));
    if (!status) return false;
    const bool last = end == wanted_.size();
    FORKPOINT_ASSIGN_OR_RETURN(const bool whiteout, is_whiteout(path, *status));
    if (whiteout || !S_ISDIR(status->st_mode)) {
      stop_ = true;
      // Nothing but a folder continues a folder.
      if (!whiteout && last && !found_) add_file(path, layer, *status);
      return false;
    }
    if (last) add_folder(path, layer, *status);
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<std::string> opaque, xattr_of(path, prefix_ + "opaque"));
    if (opaque == "y") {
      stop_ = true;
    } else {
      FORKPOINT_RETURN_IF_ERROR(redirect(path, start, end));
    }
    return true;
  }

  Result<bool> is_whiteout(const std::string& path, const struct stat& status) const {
    if (S_ISCHR(status.st_mode)) return status.st_rdev == 0;
    if (!S_ISREG(status.st_mode) || status.st_size != 0) return false;
    // The kernel asks for the mark on the folder when it lists, but not when it looks up.
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<std::string> mark, xattr_of(path, prefix_ + "whiteout"));
    return mark.has_value();
  }

  void add_file(const std::string& path, std::size_t layer, const struct stat& status) {
    found_ = true;
    entry_.type = type_of(status.st_mode);
    entry_.mode = status.st_mode & 07777U;
    const bool sized = entry_.type == 'f' || entry_.type == 'l';
    entry_.size_bytes = sized ? static_cast<std::uint64_t>(status.st_size) : 0;
    entry_.source = path;
    entry_.layer = layer;
  }

  void add_folder(const std::string& path, std::size_t layer, const struct stat& status) {
    if (!found_) {
      entry_.type = 'd';
      entry_.mode = status.st_mode & 07777U;
      entry_.layer = layer;
    }
    found_ = true;
    entry_.sources.emplace_back(path);
    entry_.source_layers.push_back(layer);
  }

  // Follows the redirect of the folder at `path`, if it has one, for the layers beneath.
  Result<void> redirect(const std::string& path, std::size_t start, std::size_t end) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<std::string> target, xattr_of(path, prefix_ + "redirect"));
    if (!target) return {};
    if (!is_redirect(*target)) return bad_layer(path, fmt::format("redirects to \"{}\"", *target));
    if (target->starts_with('/')) {
      stop_ = false;  // an opaque folder on the way here hides nothing of where this one came from
      wanted_.replace(0, end, *target);
    } else {
      wanted_.replace(start, end - start, *target);
    }
    return {};
  }

  const Layers& layers_;
  const std::string prefix_;
  std::string
      wanted_;  // the name in the parent's folders, or after a redirect perhaps a path from the layers' roots
  ViewEntry entry_;
  bool found_ = false;
  bool stop_ = false;
  std::size_t next_layer_ = 0;
};

}  // namespace

std::string_view xattr_prefix(OverlayXattrs xattrs) {
  return xattrs == OverlayXattrs::trusted ? "trusted.overlay." : "user.overlay.";
}

OverlayView::OverlayView(std::vector<std::filesystem::path> layers, OverlayXattrs xattrs)
    : layers_(std::move(layers)), xattrs_(xattrs) {
  FORKPOINT_CHECK(!layers_.empty(), "a view needs a layer");
}

ViewEntry OverlayView::root_folder() const {
  ViewEntry folder;
  folder.type = 'd';
  folder.sources = layers_;
  for (std::size_t i = 0; i < layers_.size(); ++i) folder.source_layers.push_back(i);
  return folder;
}

Result<std::vector<ViewEntry>> OverlayView::root() const { return list(root_folder()); }

Result<std::vector<ViewEntry>> OverlayView::list(const ViewEntry& folder) const {
  FORKPOINT_CHECK(folder.type == 'd', "only a folder can be listed");
  std::vector<ViewEntry> entries;
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < folder.sources.size(); ++i) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::vector<std::string> names, names_in(folder.sources[i]));
    for (const std::string& name : names) {
      if (!seen.insert(name).second) continue;
      FORKPOINT_ASSIGN_OR_RETURN(std::optional<ViewEntry> entry,
                                 Lookup(layers_, xattrs_, name).run(folder, i));
      if (entry) entries.push_back(std::move(*entry));
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const ViewEntry& a, const ViewEntry& b) { return a.name < b.name; });
  return entries;
}

Result<ViewEntry> OverlayView::find(std::string_view path) const {
  ViewEntry entry = root_folder();
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<struct stat> status, status_of(*layer));
    if (!status || !S_ISDIR(status->st_mode)) return bad_layer(*layer, "no such folder");
    entry.mode = status->st_mode & 07777U;
  }

  std::string_view rest = path;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty()) continue;
    if (name == "." || name == ".." || entry.type != 'd') return no_such_file(path);
    FORKPOINT_ASSIGN_OR_RETURN(std::optional<ViewEntry> next, Lookup(layers_, xattrs_, name).run(entry, 0));
    if (!next) return no_such_file(path);
    entry = std::move(*next);
  }
  return entry;
}

bool OverlayView::same_folder(const ViewEntry& folder, const OverlayView& other,
                              const ViewEntry& other_folder) const {
  // The layers beneath count too: a folder further below may have been renamed from anywhere in them.
  return xattrs_ == other.xattrs_ && folder.sources == other_folder.sources &&
         std::equal(layers_.begin() + static_cast<std::ptrdiff_t>(folder.layer), layers_.end(),
                    other.layers_.begin() + static_cast<std::ptrdiff_t>(other_folder.layer),
                    other.layers_.end());
}

}  // namespace forkpoint::sandbox
