#include "sandbox/content_cache.h"

#include <cstring>
#include <string>
#include <string_view>

#include "core/file.h"

namespace forkpoint::sandbox {
namespace {

// A file of the cache: magic, XXH3-64 of all behind it, size of the layer's path, path, records. In the byte
// order of the machine: another's fails at the checksum, which is of the bytes read as its own numbers.
constexpr std::string_view kMagic = "forkpoint contents 1\n";

struct Record {
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t hash_high = 0;
  std::uint64_t hash_low = 0;
};
static_assert(sizeof(Record) == 48, "records are written as they lie in memory");

std::int64_t to_ns(const struct timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(time.tv_nsec);
}

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
std::optional<T> take(std::string_view& bytes) {
  T value{};
  if (bytes.size() < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

}  // namespace

ContentCache::ContentCache(const std::filesystem::path& folder, const std::filesystem::path& layer)
    : file_(folder / core::xxh3_128(layer.native()).to_hex()), layer_(layer) {
  load();
}

ContentCache::Known ContentCache::known_of(const struct stat& status) {
  return {.size_bytes = static_cast<std::uint64_t>(status.st_size),
          .modified_ns = to_ns(status.st_mtim),
          .changed_ns = to_ns(status.st_ctim),
          .hash = {}};
}

void ContentCache::load() {
  const Result<std::string> content = core::read_file(file_);
  if (!content || !content->starts_with(kMagic)) return;
  std::string_view rest = std::string_view(*content).substr(kMagic.size());
  const auto checksum = take<std::uint64_t>(rest);
  if (!checksum || *checksum != core::xxh3_64(rest)) return;
  const auto path_size = take<std::uint64_t>(rest);
  if (!path_size || rest.substr(0, *path_size) != layer_.native()) return;
  rest.remove_prefix(layer_.native().size());
  while (const auto record = take<Record>(rest)) {
    by_inode_[record->inode] = {.size_bytes = record->size_bytes,
                                .modified_ns = record->modified_ns,
                                .changed_ns = record->changed_ns,
                                .hash = {.high = record->hash_high, .low = record->hash_low}};
  }
}

std::optional<core::Hash128> ContentCache::find(const struct stat& status) const {
  const auto found = by_inode_.find(status.st_ino);
  if (found == by_inode_.end()) return std::nullopt;
  const Known wanted = known_of(status);
  const Known& known = found->second;
  const bool same = known.size_bytes == wanted.size_bytes && known.modified_ns == wanted.modified_ns &&
                    known.changed_ns == wanted.changed_ns;
  return same ? std::optional(known.hash) : std::nullopt;
}

void ContentCache::remember(const struct stat& status, core::Hash128 hash) {
  Known known = known_of(status);
  known.hash = hash;
  by_inode_[status.st_ino] = known;
  changed_ = true;
}

Result<void> ContentCache::save() {
  if (!changed_) return {};
  std::string body;
  put(body, static_cast<std::uint64_t>(layer_.native().size()));
  body += layer_.native();
  for (const auto& [inode, known] : by_inode_) {
    put(body, Record{.inode = inode,
                     .size_bytes = known.size_bytes,
                     .modified_ns = known.modified_ns,
                     .changed_ns = known.changed_ns,
                     .hash_high = known.hash.high,
                     .hash_low = known.hash.low});
  }
  std::string content(kMagic);
  put(content, core::xxh3_64(body));
  content += body;
  FORKPOINT_RETURN_IF_ERROR(core::write_file(file_, content));
  changed_ = false;
  return {};
}

}  // namespace forkpoint::sandbox
