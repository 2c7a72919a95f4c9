#include "sandbox/image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/hash.h"
#include "core/temp_dir.h"
#include "core/unique_fd.h"
#include "sandbox/archive.h"
#include "sandbox/image_error.h"
#include "sandbox/image_manifest.h"
#include "sandbox/layer_folder.h"
#include "sandbox/layer_store.h"
#include "sandbox/overlay_marks.h"

namespace forkpoint::sandbox {
namespace {

namespace fs = std::filesystem;
using core::UniqueFd;

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
constexpr int kIndexDepthMax = 4;  // an index may hold indexes

Error unreadable(const std::string& name) {
  return core::system_error(errno, "file_unreadable", fmt::format("{}: can't be read", name));
}

// The bytes to the end, and their digest: each piece goes to `use`.
template <class Use>
Result<core::Hash256> read_all(int fd, const std::string& name, const Use& use) {
  core::Sha256 hash;
  std::array<char, kPieceBytes> buffer;
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(name);
    if (count == 0) return hash.digest();
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(count));
    hash.update(piece);
    FORKPOINT_RETURN_IF_ERROR(use(piece));
  }
}

// An image's folder: an OCI layout, or an unpacked `docker save` archive. No name leads out of it.
class ImageFolder {
 public:
  static Result<ImageFolder> open(const fs::path& path, std::string name) {
    UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (root) return ImageFolder(std::move(root), std::move(name));
    if (errno == ENOENT || errno == ENOTDIR) {
      return no_such_image(fmt::format("{}: no such folder", name));
    }
    return unreadable(name);
  }

  std::string name_of(const std::string& path) const { return fmt::format("{}: {}", name_, path); }
  static std::string blob_path(const std::string& sha256_hex) { return "blobs/sha256/" + sha256_hex; }

  Result<UniqueFd> open_file(const std::string& path) const {
    // O_NONBLOCK: a FIFO that nobody writes to must not hang.
    UniqueFd file = open_beneath(root_.get(), path, O_RDONLY | O_NONBLOCK);
    struct stat status {};
    if (!file && errno == ENOENT) return bad_image(fmt::format("{}: missing", name_of(path)));
    if (!file && errno == EXDEV) return bad_image(fmt::format("{}: leaves the image", name_of(path)));
    if (!file || ::fstat(file.get(), &status) != 0) return unreadable(name_of(path));
    if (!S_ISREG(status.st_mode)) return bad_image(fmt::format("{}: not a file", name_of(path)));
    return file;
  }

  // The JSON document at `path`, which has the digest if one is given.
  Result<Json> read_document(const std::string& path, const std::string& sha256_hex) const {
    FORKPOINT_ASSIGN_OR_RETURN(const UniqueFd file, open_file(path));
    std::string text;
    const auto add = [&](std::string_view piece) -> Result<void> {
      text += piece;
      if (text.size() <= kManifestBytesMax) return {};
      return bad_image(fmt::format("{}: larger than {} bytes", name_of(path), kManifestBytesMax));
    };
    FORKPOINT_ASSIGN_OR_RETURN(const core::Hash256 digest, read_all(file.get(), name_of(path), add));
    if (!sha256_hex.empty() && digest.to_hex() != sha256_hex) {
      return bad_image(
          fmt::format("{}: its SHA-256 is {}, not {}", name_of(path), digest.to_hex(), sha256_hex));
    }
    return parse_document(text, name_of(path));
  }

  // The layer whose blob is at `path`; the blob is not looked at if the layer is in the store.
  Result<fs::path> layer(const std::string& path, const LayerId& id, LayerStore& store) const {
    if (store.has(id.sha256_hex)) return store.path_of(id.sha256_hex);
    FORKPOINT_ASSIGN_OR_RETURN(const UniqueFd blob, open_file(path));
    return store.unpack(id, blob.get(), name_of(path));
  }

 private:
  ImageFolder(UniqueFd root, std::string name) : root_(std::move(root)), name_(std::move(name)) {}

  UniqueFd root_;
  std::string name_;
};

// The image of layers that come lowest first.
Image assemble(std::vector<fs::path> layers, ImageConfig config, OverlayXattrs xattrs) {
  Image image{.layers = {},
              .environment = std::move(config.environment),
              .working_folder = std::move(config.working_folder)};
  // overlayfs refuses a folder that comes twice. The upper one is enough: it has, and hides, all that the
  // lower does.
  std::set<fs::path> seen;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (!seen.insert(*layer).second) continue;
    image.layers.push_back(*layer);
    // overlayfs does not heed the mark on a layer's root.
    if (is_marked_opaque(*layer, xattrs)) break;
  }
  return image;
}

Result<Image> read_oci(const ImageFolder& folder, LayerStore& store) {
  const std::string architecture = host_architecture();
  std::string path = "index.json";
  FORKPOINT_ASSIGN_OR_RETURN(Json document, folder.read_document(path, ""));
  for (int depth = 0; is_index(document); ++depth) {
    if (depth == kIndexDepthMax) return bad_image(fmt::format("{}: too deep", folder.name_of(path)));
    FORKPOINT_ASSIGN_OR_RETURN(const std::string chosen,
                               choose_manifest(document, architecture, folder.name_of(path)));
    path = ImageFolder::blob_path(chosen);
    FORKPOINT_ASSIGN_OR_RETURN(document, folder.read_document(path, chosen));
  }
  FORKPOINT_ASSIGN_OR_RETURN(const OciManifest manifest, read_manifest(document, folder.name_of(path)));
  path = ImageFolder::blob_path(manifest.config);
  FORKPOINT_ASSIGN_OR_RETURN(const Json config_document, folder.read_document(path, manifest.config));
  FORKPOINT_ASSIGN_OR_RETURN(ImageConfig config,
                             read_image_config(config_document, architecture, folder.name_of(path)));
  std::vector<fs::path> layers;
  for (const std::string& digest : manifest.layers) {
    FORKPOINT_ASSIGN_OR_RETURN(
        fs::path layer,
        folder.layer(ImageFolder::blob_path(digest), {.sha256_hex = digest, .of = TarDigest::blob}, store));
    layers.push_back(std::move(layer));
  }
  return assemble(std::move(layers), std::move(config), store.options().xattrs);
}

// `docker save` gives no digests of layers but those in the config, which are of the tars without
// compression.
Result<Image> read_docker(const ImageFolder& folder, LayerStore& store) {
  const std::string path = "manifest.json";
  FORKPOINT_ASSIGN_OR_RETURN(const Json document, folder.read_document(path, ""));
  FORKPOINT_ASSIGN_OR_RETURN(const DockerManifest manifest,
                             read_docker_manifest(document, folder.name_of(path)));
  // "<digest>.json" or "blobs/sha256/<digest>".
  const std::string stem = fs::path(manifest.config_path).stem();
  FORKPOINT_ASSIGN_OR_RETURN(const Json config_document,
                             folder.read_document(manifest.config_path, is_sha256_hex(stem) ? stem : ""));
  const std::string config_name = folder.name_of(manifest.config_path);
  FORKPOINT_ASSIGN_OR_RETURN(ImageConfig config,
                             read_image_config(config_document, host_architecture(), config_name));
  if (config.diff_ids.size() != manifest.layer_paths.size()) {
    return bad_image(fmt::format("{}: {} digests for {} layers", config_name, config.diff_ids.size(),
                                 manifest.layer_paths.size()));
  }
  std::vector<fs::path> layers;
  for (std::size_t i = 0; i < manifest.layer_paths.size(); ++i) {
    const LayerId id{.sha256_hex = config.diff_ids[i], .of = TarDigest::tar};
    FORKPOINT_ASSIGN_OR_RETURN(fs::path layer, folder.layer(manifest.layer_paths[i], id, store));
    layers.push_back(std::move(layer));
  }
  return assemble(std::move(layers), std::move(config), store.options().xattrs);
}

enum class ArchiveKind { oci, docker, root };

// Found out from the names alone. A root file system shows itself early, so that it need not be read twice.
Result<ArchiveKind> kind_of(int file, const std::string& name, const UnpackBudget& limits) {
  static const std::set<std::string_view> root_folders = {"bin",  "dev", "etc",  "home", "lib", "opt", "proc",
                                                          "root", "run", "sbin", "sys",  "tmp", "usr", "var"};
  FORKPOINT_ASSIGN_OR_RETURN(TarReader reader,
                             TarReader::open(file, name, {.tar_bytes_max = limits.tar_bytes_max()}));
  bool has_docker_manifest = false;
  std::uint64_t entries = 0;
  while (true) {
    FORKPOINT_ASSIGN_OR_RETURN(const std::optional<TarEntry> entry, reader.next());
    if (!entry) return has_docker_manifest ? ArchiveKind::docker : ArchiveKind::root;
    if (++entries > limits.files) return image_too_large(fmt::format("{}: too many files", name));
    const Result<std::string> path = normal_path(entry->path);
    if (!path) return Error(path.error()).within(name);
    if (root_folders.contains(std::string_view(*path).substr(0, path->find('/')))) return ArchiveKind::root;
    if (*path == "oci-layout" || *path == "index.json") return ArchiveKind::oci;
    if (*path == "manifest.json") has_docker_manifest = true;
  }
}

Result<Image> read_root(int file, const std::string& name, LayerStore& store) {
  const auto nothing = [](std::string_view) -> Result<void> { return {}; };
  FORKPOINT_ASSIGN_OR_RETURN(const core::Hash256 digest, read_all(file, name, nothing));
  if (::lseek(file, 0, SEEK_SET) != 0) return unreadable(name);
  FORKPOINT_ASSIGN_OR_RETURN(
      fs::path layer, store.unpack({.sha256_hex = digest.to_hex(), .of = TarDigest::blob}, file, name));
  return Image{.layers = {std::move(layer)}, .environment = {}, .working_folder = {}};
}

// Unpacks the archive's blobs, but those of layers that are in the store, and reads the image from them.
Result<Image> read_saved(int file, const std::string& name, ArchiveKind kind, LayerStore& store,
                         UnpackBudget limits) {
  FORKPOINT_ASSIGN_OR_RETURN(const core::TempDir blobs, store.make_draft());
  FORKPOINT_ASSIGN_OR_RETURN(TarReader reader,
                             TarReader::open(file, name, {.tar_bytes_max = limits.tar_bytes_max()}));
  UnpackRules rules;
  rules.is_wanted = [&store](const std::string& path) {
    const std::string stem = fs::path(path).stem();
    return !is_sha256_hex(stem) || !store.has(stem);
  };
  FORKPOINT_RETURN_IF_ERROR(unpack_tar(reader, blobs.path(), rules, limits));
  FORKPOINT_ASSIGN_OR_RETURN(const ImageFolder folder, ImageFolder::open(blobs.path(), name));
  return kind == ArchiveKind::oci ? read_oci(folder, store) : read_docker(folder, store);
}

}  // namespace

Result<Image> open_oci_layout(const fs::path& source, const UnpackOptions& options) {
  FORKPOINT_ASSIGN_OR_RETURN(const ImageFolder folder, ImageFolder::open(source, source.native()));
  FORKPOINT_ASSIGN_OR_RETURN(LayerStore store, LayerStore::open(options));
  return read_oci(folder, store);
}

Result<Image> open_archive(const fs::path& source, const UnpackOptions& options) {
  const std::string& name = source.native();
  const UniqueFd file(::open(source.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file && (errno == ENOENT || errno == ENOTDIR)) {
    return no_such_image(fmt::format("{}: no such file", name));
  }
  if (!file || ::fstat(file.get(), &status) != 0) return unreadable(name);
  if (!S_ISREG(status.st_mode)) return no_such_image(fmt::format("{}: not a file", name));

  FORKPOINT_ASSIGN_OR_RETURN(LayerStore store, LayerStore::open(options));
  const UnpackBudget limits{.bytes = options.bytes_max, .files = options.files_max};
  FORKPOINT_ASSIGN_OR_RETURN(const ArchiveKind kind, kind_of(file.get(), name, limits));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return unreadable(name);
  if (kind == ArchiveKind::root) return read_root(file.get(), name, store);
  return read_saved(file.get(), name, kind, store, limits);
}

}  // namespace forkpoint::sandbox
