#include "sandbox/tar_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <locale.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sandbox/image_error.h"

namespace forkpoint::sandbox {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{128} << 10;

struct FreeArchive {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using ArchiveHandle = std::unique_ptr<archive, FreeArchive>;

// libarchive converts names of pax archives, which are UTF-8, to the locale's charset; in the C locale that
// would spoil all that is not ASCII.
class Utf8Locale {
 public:
  Utf8Locale() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{})) {
    if (utf8_ != locale_t{}) before_ = ::uselocale(utf8_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;
  ~Utf8Locale() {
    if (utf8_ == locale_t{}) return;
    ::uselocale(before_);
    ::freelocale(utf8_);
  }

 private:
  locale_t utf8_;
  locale_t before_{};
};

std::string reason_of(archive* handle) {
  if (handle == nullptr) return "out of memory";
  const char* text = archive_error_string(handle);
  return text == nullptr ? "not a tar archive" : text;
}

bool add_filters(archive* handle) {
  // ARCHIVE_WARN would mean an external program, which we don't want to start.
  return archive_read_support_filter_gzip(handle) == ARCHIVE_OK &&
         archive_read_support_filter_bzip2(handle) == ARCHIVE_OK &&
         archive_read_support_filter_xz(handle) == ARCHIVE_OK &&
         archive_read_support_filter_zstd(handle) == ARCHIVE_OK;
}

const char* text_or_empty(const char* text) { return text == nullptr ? "" : text; }

TarEntryType type_of(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return TarEntryType::hard_link;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG: return TarEntryType::file;
    case AE_IFDIR: return TarEntryType::folder;
    case AE_IFLNK: return TarEntryType::symlink;
    case AE_IFIFO: return TarEntryType::fifo;
    default: return TarEntryType::other;
  }
}

timespec mtime_of(archive_entry* entry) {
  timespec time{};
  time.tv_sec = archive_entry_mtime(entry);
  time.tv_nsec = archive_entry_mtime_nsec(entry);
  // Numbers outside have a meaning to utimensat: UTIME_NOW, UTIME_OMIT.
  if (time.tv_nsec < 0 || time.tv_nsec >= 1'000'000'000) time.tv_nsec = 0;
  return time;
}

}  // namespace

// With TarDigest::tar two archives in a row: `inner` undoes the compression, `outer` reads what it yields.
struct TarReader::State {
  std::string name;
  TarReaderOptions options;
  int fd = -1;
  ArchiveHandle inner;
  ArchiveHandle outer;
  core::Sha256 hash;
  std::uint64_t inner_bytes = 0;
  std::array<char, kBlockBytes> buffer;

  Error bad(archive* handle) const { return bad_image(fmt::format("{}: {}", name, reason_of(handle))); }
  Error too_long() const {
    return image_too_large(fmt::format("{}: more than {} bytes when unpacked", name, options.tar_bytes_max));
  }

  // Both return the count of bytes at `*bytes`, 0 at the end, negative after an error.
  la_ssize_t read_blob(const void** bytes) {
    ssize_t count = 0;
    do count = ::read(fd, buffer.data(), buffer.size());
    while (count < 0 && errno == EINTR);
    if (count < 0) archive_set_error(outer.get(), errno, "can't be read");
    if (count > 0) hash.update({buffer.data(), static_cast<std::size_t>(count)});
    *bytes = buffer.data();
    return count;
  }

  la_ssize_t read_inner(const void** bytes) {
    std::size_t count = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(inner.get(), bytes, &count, &offset);
    if (status == ARCHIVE_EOF) return 0;
    if (status != ARCHIVE_OK) {
      archive_set_error(outer.get(), EINVAL, "%s", reason_of(inner.get()).c_str());
      return -1;
    }
    hash.update({static_cast<const char*>(*bytes), count});
    inner_bytes += count;
    return static_cast<la_ssize_t>(count);
  }

  static la_ssize_t on_read(archive*, void* self, const void** bytes) {
    auto& state = *static_cast<State*>(self);
    return state.inner ? state.read_inner(bytes) : state.read_blob(bytes);
  }

  Result<void> open_inner() {
    inner.reset(archive_read_new());
    if (!inner || !add_filters(inner.get()) || archive_read_support_format_raw(inner.get()) != ARCHIVE_OK) {
      return bad(inner.get());
    }
    archive_entry* unused = nullptr;
    if (archive_read_open_fd(inner.get(), fd, kBlockBytes) != ARCHIVE_OK ||
        archive_read_next_header(inner.get(), &unused) != ARCHIVE_OK) {
      return bad(inner.get());
    }
    return {};
  }

  Result<void> open_all() {
    if (options.digest == TarDigest::tar) FORKPOINT_RETURN_IF_ERROR(open_inner());
    outer.reset(archive_read_new());
    // Without filters where `inner` has undone them: a tar in the tar's place must not be a second
    // compression.
    if (!outer || (!inner && !add_filters(outer.get())) ||
        archive_read_support_format_tar(outer.get()) != ARCHIVE_OK) {
      return bad(outer.get());
    }
    // libarchive's own reading of descriptors passes over data by seeking, which a digest can't afford.
    const int status = options.digest == TarDigest::none
                           ? archive_read_open_fd(outer.get(), fd, kBlockBytes)
                           : archive_read_open(outer.get(), this, nullptr, &State::on_read, nullptr);
    if (status != ARCHIVE_OK) return bad(outer.get());
    return {};
  }
};

TarReader::TarReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarReader::TarReader(TarReader&&) noexcept = default;
TarReader& TarReader::operator=(TarReader&&) noexcept = default;
TarReader::~TarReader() = default;

const std::string& TarReader::name() const { return state_->name; }

Result<TarReader> TarReader::open(int fd, std::string name, const TarReaderOptions& options) {
  const Utf8Locale utf8;
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  state->options = options;
  state->fd = fd;
  FORKPOINT_RETURN_IF_ERROR(state->open_all());
  return TarReader(std::move(state));
}

Result<std::optional<TarEntry>> TarReader::next() {
  const Utf8Locale utf8;
  archive_entry* raw = nullptr;
  archive* const handle = state_->outer.get();
  const int status = archive_read_next_header(handle, &raw);
  if (static_cast<std::uint64_t>(archive_filter_bytes(handle, 0)) > state_->options.tar_bytes_max) {
    return state_->too_long();
  }
  if (status == ARCHIVE_EOF) return std::optional<TarEntry>();
  // ARCHIVE_WARN: an oddity in attributes that we don't use, or a name that is not UTF-8.
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return state_->bad(handle);
  TarEntry entry;
  entry.type = type_of(raw);
  entry.path = text_or_empty(archive_entry_pathname(raw));
  if (entry.path.empty()) return bad_image(fmt::format("{}: an entry has no name", state_->name));
  entry.target = text_or_empty(entry.type == TarEntryType::hard_link ? archive_entry_hardlink(raw)
                                                                     : archive_entry_symlink(raw));
  entry.mode = archive_entry_perm(raw);
  entry.uid = archive_entry_uid(raw);
  entry.gid = archive_entry_gid(raw);
  if (archive_entry_size(raw) < 0) {
    return bad_image(fmt::format("{}: {}: negative size", state_->name, entry.path));
  }
  entry.size_bytes = static_cast<std::uint64_t>(archive_entry_size(raw));
  // Before anybody passes over it: that too takes as long as it is.
  if (entry.size_bytes > state_->options.tar_bytes_max) return state_->too_long();
  entry.mtime = mtime_of(raw);
  return std::optional<TarEntry>(std::move(entry));
}

Result<std::optional<TarBlock>> TarReader::read() {
  const void* bytes = nullptr;
  std::size_t count = 0;
  la_int64_t offset = 0;
  const int status = archive_read_data_block(state_->outer.get(), &bytes, &count, &offset);
  if (status == ARCHIVE_EOF) return std::optional<TarBlock>();
  if (status != ARCHIVE_OK || offset < 0) return state_->bad(state_->outer.get());
  return std::optional<TarBlock>(TarBlock{.bytes = {static_cast<const char*>(bytes), count},
                                          .offset_bytes = static_cast<std::uint64_t>(offset)});
}

Result<core::Hash256> TarReader::finish() {
  State& state = *state_;
  if (state.options.digest == TarDigest::none) return core::Hash256{};
  const void* unused = nullptr;
  while (true) {
    const la_ssize_t count = State::on_read(nullptr, &state, &unused);
    if (count < 0) return state.bad(state.outer.get());
    if (count == 0) return state.hash.digest();
    if (state.inner_bytes > state.options.tar_bytes_max) return state.too_long();
  }
}

}  // namespace forkpoint::sandbox
