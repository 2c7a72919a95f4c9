#include "sandbox/changed_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/check.h"
#include "sandbox/layer_file.h"
#include "sandbox/overlay_view.h"

namespace forkpoint::sandbox {
namespace {

bool is_folder(const ViewEntry* entry) { return entry != nullptr && entry->type == 'd'; }

// Whether two entries of the same type, neither of them a folder, hold the same.
Result<bool> same_payload(const ViewEntry& before, const ViewEntry& now) {
  if (before.source == now.source) return true;
  if (before.size_bytes != now.size_bytes) return false;
  FORKPOINT_ASSIGN_OR_RETURN(const struct stat before_status, existing_status_of(before.source));
  FORKPOINT_ASSIGN_OR_RETURN(const struct stat now_status, existing_status_of(now.source));
  // squash() leaves one file under two paths.
  if (before_status.st_dev == now_status.st_dev && before_status.st_ino == now_status.st_ino) return true;
  switch (now.type) {
    case 'f': return same_content(before.source, now.source);
    case 'c':
    case 'b': return before_status.st_rdev == now_status.st_rdev;
    case 'l': break;
    default: return true;
  }
  FORKPOINT_ASSIGN_OR_RETURN(const std::string before_target, link_target(before.source));
  FORKPOINT_ASSIGN_OR_RETURN(const std::string now_target, link_target(now.source));
  return before_target == now_target;
}

class Comparison {
 public:
  Comparison(const OverlayView& before, const OverlayView& now) : before_(before), now_(now) {}

  // Compares what is in two folders; an absent one (nullptr) has nothing in it.
  Result<void> folders(const ViewEntry* before, const ViewEntry* now, const std::string& path) {
    if (before != nullptr && now != nullptr && before_.same_folder(*before, now_, *now)) return {};
    std::vector<ViewEntry> old_entries;
    std::vector<ViewEntry> new_entries;
    if (before != nullptr) {
      FORKPOINT_ASSIGN_OR_RETURN(old_entries, before_.list(*before));
    }
    if (now != nullptr) {
      FORKPOINT_ASSIGN_OR_RETURN(new_entries, now_.list(*now));
    }

    auto old_entry = old_entries.begin();
    auto new_entry = new_entries.begin();
    while (old_entry != old_entries.end() || new_entry != new_entries.end()) {
      const bool no_new = new_entry == new_entries.end();
      const bool no_old = old_entry == old_entries.end();
      const ViewEntry* old_here =
          no_old || (!no_new && new_entry->name < old_entry->name) ? nullptr : &*old_entry;
      const ViewEntry* new_here =
          no_new || (!no_old && old_entry->name < new_entry->name) ? nullptr : &*new_entry;
      FORKPOINT_RETURN_IF_ERROR(entries(old_here, new_here, path));
      if (old_here != nullptr) ++old_entry;
      if (new_here != nullptr) ++new_entry;
    }
    return {};
  }

  std::vector<ChangedFile> take() && {
    std::sort(changes_.begin(), changes_.end(),
              [](const ChangedFile& a, const ChangedFile& b) { return a.path < b.path; });
    return std::move(changes_);
  }

 private:
  // Compares two entries of one name, of which one may be absent, with all that is below them.
  Result<void> entries(const ViewEntry* before, const ViewEntry* now, const std::string& parent) {
    const std::string path = parent + "/" + (now != nullptr ? now : before)->name;
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<ChangeKind> kind, difference(before, now));
    if (kind) {
      const ViewEntry& shown = now != nullptr ? *now : *before;
      changes_.push_back(
          {.path = path, .kind = *kind, .type = shown.type, .mode = now != nullptr ? now->mode : 0});
    }
    if (!is_folder(before) && !is_folder(now)) return {};
    return folders(is_folder(before) ? before : nullptr, is_folder(now) ? now : nullptr, path);
  }

  static Result<std::optional<ChangeKind>> difference(const ViewEntry* before, const ViewEntry* now) {
    using Difference = std::optional<ChangeKind>;
    if (before == nullptr) return Difference(ChangeKind::added);
    if (now == nullptr) return Difference(ChangeKind::deleted);
    if (before->type != now->type) return Difference(ChangeKind::modified);
    if (now->type != 'd') {
      FORKPOINT_ASSIGN_OR_RETURN(const bool same, same_payload(*before, *now));
      if (!same) return Difference(ChangeKind::modified);
    }
    return before->mode == now->mode ? Difference() : Difference(ChangeKind::mode);
  }

  const OverlayView& before_;
  const OverlayView& now_;
  std::vector<ChangedFile> changes_;
};

}  // namespace

std::string_view to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added: return "added";
    case ChangeKind::modified: return "modified";
    case ChangeKind::deleted: return "deleted";
    case ChangeKind::mode: return "mode";
  }
  FORKPOINT_UNREACHABLE();
}

Result<std::vector<ChangedFile>> changed_files(const OverlayView& before, const OverlayView& now,
                                               std::string_view prefix) {
  FORKPOINT_ASSIGN_OR_RETURN(const ViewEntry before_root, before.find(""));
  FORKPOINT_ASSIGN_OR_RETURN(const ViewEntry now_root, now.find(""));
  Comparison comparison(before, now);
  FORKPOINT_RETURN_IF_ERROR(comparison.folders(&before_root, &now_root, std::string(prefix)));
  return std::move(comparison).take();
}

}  // namespace forkpoint::sandbox
