// ContentCache: hashes of the contents of one layer's files, remembered from one run to the next.
//
//   ContentCache cache(folder, layer);
//   if (const auto hash = cache.find(status)) ...
//   cache.remember(status, hash);
//   cache.save();
//
// A file is known by its inode, and its hash believed only while size, time of modification and time of
// change are those it had. Not synchronized; of several processes that save at once one wins, and what the
// others learned is lost.
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "core/hash.h"
#include "core/result.h"

namespace forkpoint::sandbox {

class ContentCache {
 public:
  // Reads what was remembered of `layer`. A file that is not there, or that is damaged, holds nothing.
  ContentCache(const std::filesystem::path& folder, const std::filesystem::path& layer);

  std::optional<core::Hash128> find(const struct stat& status) const;
  void remember(const struct stat& status, core::Hash128 hash);

  // Writes what is known, if anything is new. Error: `file_unwritable`.
  Result<void> save();

 private:
  struct Known {
    std::uint64_t size_bytes = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    core::Hash128 hash;
  };
  static Known known_of(const struct stat& status);
  void load();

  std::filesystem::path file_;
  std::filesystem::path layer_;
  std::map<std::uint64_t, Known> by_inode_;
  bool changed_ = false;
};

}  // namespace forkpoint::sandbox
