// TarReader: the entries of one tar file, compressed or not, and a digest of it on the way.
//
//   FORKPOINT_ASSIGN_OR_RETURN(TarReader reader, TarReader::open(fd, name, {.digest = TarDigest::blob}));
//   next() until it is empty, read() for the bytes of the entry that came last, finish() for the digest
//
// Nothing here touches the disk but the descriptor. What comes out is untrusted: names are as the archive has
// them. gzip, bzip2, xz and zstd; ustar, GNU and pax. Movable, not copyable; not synchronized. Errors:
// `bad_image`, `image_too_large`, all with the name given to open().
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/hash.h"
#include "core/result.h"

namespace forkpoint::sandbox {

enum class TarEntryType { file, folder, symlink, hard_link, fifo, other };

struct TarEntry {
  TarEntryType type = TarEntryType::other;
  std::string path;
  std::string target;  // of links
  mode_t mode = 0;     // permission bits, setuid, setgid, sticky
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::uint64_t size_bytes = 0;  // as the header claims
  timespec mtime{};
};

// A piece of a file. Holes of sparse files lie between pieces.
struct TarBlock {
  std::string_view bytes;  // valid until the next call
  std::uint64_t offset_bytes = 0;
};

// What the digest is of: the bytes in the descriptor, or the tar inside their compression.
enum class TarDigest { none, blob, tar };

struct TarReaderOptions {
  TarDigest digest = TarDigest::none;
  std::uint64_t tar_bytes_max = UINT64_MAX;  // without compression: a small blob may hold an endless tar
};

class TarReader {
 public:
  // `fd` stays the caller's and must outlive the reader; reading begins where it stands.
  static Result<TarReader> open(int fd, std::string name, const TarReaderOptions& options = {});

  TarReader(TarReader&&) noexcept;
  TarReader& operator=(TarReader&&) noexcept;
  ~TarReader();

  // The next entry; nothing at the end. Passes over what was not read of the last one.
  Result<std::optional<TarEntry>> next();
  // The next bytes of the entry that came last; nothing at its end.
  Result<std::optional<TarBlock>> read();
  // Reads what follows the archive's end. The digest, all zeros for TarDigest::none.
  Result<core::Hash256> finish();

  const std::string& name() const;

 private:
  struct State;
  explicit TarReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace forkpoint::sandbox
