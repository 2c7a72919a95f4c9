// Image: the root file system of sandboxes, resolved to a stack of layer folders.
//
//   host            the machine's own /usr, /etc and what belongs to them, secrets masked (host_image.h)
//   FOLDER          a root file system as it is
//   oci:FOLDER      an OCI image layout (the folder that holds index.json)
//   archive:FILE    a `docker save` or OCI archive, or a plain root file system (tar, maybe compressed)
//
// Layers of archives are unpacked once into `store` (layer_store.h), named by the SHA-256 of the blob
// (`docker save`: of the tar inside, the only digest it has) and the form they have there, and shared by all
// images that have them. Deletions that an image's layer records (.wh.NAME, .wh..wh..opq) become overlayfs
// whiteouts and opaque marks; devices, sockets and extended attributes are left out (archive.h). Safe from
// several threads and processes: a layer appears by rename.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "sandbox/overlay_view.h"

namespace forkpoint::sandbox {

struct UnpackOptions {
  std::filesystem::path store;  // made where it is not there, for its owner alone: images bring setuid files
  OverlayXattrs xattrs = OverlayXattrs::user;
  // Owners: each file gets uid_base + its uid (chown needs privilege); negative: all stay the caller's own.
  std::int64_t uid_base = -1;
  // Of all layers unpacked by one call, together: a small archive may hold a huge tree.
  std::uint64_t bytes_max = std::uint64_t{32} << 30;
  std::uint64_t files_max = 5'000'000;
};

struct Image {
  std::vector<std::filesystem::path> layers;       // top first, none twice
  std::map<std::string, std::string> environment;  // of the image's config
  std::string working_folder;                      // likewise; may be empty
};

// `source` without its prefix. Of several platforms, Linux on this machine's architecture is taken. Every
// blob is checked against its digest. Errors (Boundary::sandbox, Fault::input): `no_such_image`, `bad_image`
// (what is wrong, and in which blob), `image_too_large`; those of reading and writing files (core/file.h)
// besides. A name that would leave the layer's folder (../, absolute links in the way) is `bad_image`. After
// an error nothing stays behind but layers that were whole before it.
Result<Image> open_oci_layout(const std::filesystem::path& source, const UnpackOptions& options);
Result<Image> open_archive(const std::filesystem::path& source, const UnpackOptions& options);

}  // namespace forkpoint::sandbox
