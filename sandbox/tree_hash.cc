#include "sandbox/tree_hash.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/log.h"
#include "sandbox/content_cache.h"
#include "sandbox/layer_file.h"
#include "sandbox/overlay_view.h"

namespace forkpoint::sandbox {
namespace {

// Whether `pattern`, in which "*" stands for any bytes but "/", is all of `text`.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  // Where to go on if what follows the last "*" does not fit: that "*" then stands for one byte more.
  std::optional<std::pair<std::size_t, std::size_t>> retry;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      retry = {++p, t};
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (retry && text[retry->second] != '/') {
      p = retry->first;
      t = ++retry->second;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

void put_number(std::string& bytes, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>((number >> shift) & 0xFFU);
}

void put_hash(std::string& bytes, const core::Hash128& hash) {
  put_number(bytes, hash.high);
  put_number(bytes, hash.low);
}

class TreeHasher {
 public:
  TreeHasher(const OverlayView& view, const TreeHashRequest& request) : view_(view), request_(request) {}

  Result<core::Hash128> folder(const ViewEntry& entry, const std::string& path) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::vector<ViewEntry> entries, view_.list(entry));
    std::string bytes;
    for (const ViewEntry& child : entries) {
      const std::string child_path = path.empty() ? child.name : path + "/" + child.name;
      if (left_out(child_path, child.name)) continue;
      bytes += child.name;
      bytes += '\0';
      bytes += child.type;
      bytes += fmt::format("{:04o}", child.mode);
      FORKPOINT_RETURN_IF_ERROR(put_payload(bytes, child, child_path));
    }
    return core::xxh3_128(bytes);
  }

  void save_caches() {
    for (auto& [layer, cache] : caches_) {
      if (const Result<void> saved = cache.save(); !saved) {
        log_warning("hashes of file contents are not remembered: {}", saved.error().to_line());
      }
    }
  }

 private:
  bool left_out(std::string_view path, std::string_view name) const {
    return std::any_of(request_.leave_out.begin(), request_.leave_out.end(), [&](const std::string& pattern) {
      return matches(pattern, pattern.find('/') == std::string::npos ? name : path);
    });
  }

  Result<void> put_payload(std::string& bytes, const ViewEntry& entry, const std::string& path) {
    if (entry.type == 'd') {
      FORKPOINT_ASSIGN_OR_RETURN(const core::Hash128 hash, folder(entry, path));
      put_hash(bytes, hash);
    } else if (entry.type == 'f') {
      FORKPOINT_ASSIGN_OR_RETURN(const core::Hash128 hash, content(entry));
      put_hash(bytes, hash);
    } else if (entry.type == 'l') {
      FORKPOINT_ASSIGN_OR_RETURN(const std::string target, link_target(entry.source));
      bytes += target;
      bytes += '\0';
    } else if (entry.type == 'c' || entry.type == 'b') {
      FORKPOINT_ASSIGN_OR_RETURN(const struct stat status, existing_status_of(entry.source));
      put_number(bytes, status.st_rdev);
    }
    return {};
  }

  Result<core::Hash128> content(const ViewEntry& entry) {
    const bool immutable = entry.layer >= request_.mutable_layers;
    if (!immutable || request_.cache_folder.empty()) return hash_content(entry.source);
    ContentCache& cache =
        caches_.try_emplace(entry.layer, request_.cache_folder, view_.layers()[entry.layer]).first->second;
    FORKPOINT_ASSIGN_OR_RETURN(const struct stat status, existing_status_of(entry.source));
    if (const auto known = cache.find(status)) return *known;
    FORKPOINT_ASSIGN_OR_RETURN(const core::Hash128 hash, hash_content(entry.source));
    cache.remember(status, hash);
    return hash;
  }

  const OverlayView& view_;
  const TreeHashRequest& request_;
  std::map<std::size_t, ContentCache> caches_;  // by layer
};

Error no_folder(std::string_view path) {
  return Error{.boundary = Boundary::sandbox,
               .fault = Fault::input,
               .code = "not_a_folder",
               .message = fmt::format("{}: not a folder", path)};
}

}  // namespace

Result<core::Hash128> tree_hash(const OverlayView& view, const TreeHashRequest& request) {
  FORKPOINT_ASSIGN_OR_RETURN(const ViewEntry root, view.find(request.below));
  if (root.type != 'd') return no_folder(request.below);
  TreeHasher hasher(view, request);
  FORKPOINT_ASSIGN_OR_RETURN(const core::Hash128 hash, hasher.folder(root, ""));
  hasher.save_caches();
  return hash;
}

}  // namespace forkpoint::sandbox
