#include "sandbox/layer_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/file.h"
#include "core/unique_fd.h"
#include "sandbox/image_error.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;

// Puts a finished folder in its place, on disk first: its name vouches for its content, also after a power
// cut. Another process may have been faster.
Result<void> publish(core::TempDir draft, const fs::path& path) {
  const core::UniqueFd folder(::open(draft.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const core::UniqueFd store(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || !store || ::syncfs(store.get()) != 0) return core::file_unwritable(path);
  if (::renameat2(AT_FDCWD, draft.path().c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
    draft.release();
    return {};
  }
  if (errno == EEXIST) return {};
  return core::file_unwritable(path);
}

}  // namespace

LayerStore::LayerStore(const UnpackOptions& options)
    : options_(options), budget_{.bytes = options.bytes_max, .files = options.files_max} {}

Result<LayerStore> LayerStore::open(const UnpackOptions& options) {
  std::error_code failure;
  if (!fs::is_directory(options.store, failure)) {
    FORKPOINT_RETURN_IF_ERROR(core::make_folders(options.store));
    fs::permissions(options.store, fs::perms::owner_all, failure);
    if (failure) return core::system_error(failure.value(), "file_unwritable", options.store.native());
  }
  return LayerStore(options);
}

fs::path LayerStore::path_of(const std::string& sha256_hex) const {
  std::string name = sha256_hex + (options_.xattrs == OverlayXattrs::trusted ? ".trusted" : ".user");
  if (options_.uid_base >= 0) name += fmt::format(".uid{}", options_.uid_base);
  return options_.store / name;
}

bool LayerStore::has(const std::string& sha256_hex) const {
  std::error_code ignored;
  return fs::is_directory(fs::symlink_status(path_of(sha256_hex), ignored));
}

Result<core::TempDir> LayerStore::make_draft() const {
  return core::TempDir::create("unpack-", options_.store);
}

Result<fs::path> LayerStore::unpack(const LayerId& id, int blob, const std::string& name) {
  fs::path path = path_of(id.sha256_hex);
  if (has(id.sha256_hex)) return path;
  FORKPOINT_ASSIGN_OR_RETURN(core::TempDir draft, make_draft());
  FORKPOINT_ASSIGN_OR_RETURN(
      TarReader reader,
      TarReader::open(blob, name, {.digest = id.of, .tar_bytes_max = budget_.tar_bytes_max()}));
  const UnpackRules rules{.xattrs = options_.xattrs, .uid_base = options_.uid_base};
  FORKPOINT_RETURN_IF_ERROR(unpack_tar(reader, draft.path(), rules, budget_));
  FORKPOINT_ASSIGN_OR_RETURN(const core::Hash256 digest, reader.finish());
  if (digest.to_hex() != id.sha256_hex) {
    return bad_image(fmt::format("{}: its SHA-256 is {}, not {}", name, digest.to_hex(), id.sha256_hex));
  }
  FORKPOINT_RETURN_IF_ERROR(publish(std::move(draft), path));
  return path;
}

}  // namespace forkpoint::sandbox
