// The machine's own root file system as an image: /usr, /etc, /opt and what belongs to them as lower layers,
// each overlay of its own (a user namespace can't use the whole root), over a skeleton of empty folders.
//
// Secrets are masked by a rule instead of a list: whatever below /etc other users of the machine can't read
// is empty inside. Nothing of /home, /root, /var, /run, /srv, /mnt is there at all. Single-threaded.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "sandbox/overlay_view.h"

namespace forkpoint::sandbox {

// One overlay of an image: where it is mounted, and its lower folders, top first.
struct ImageVolume {
  std::string mount_point;
  std::vector<std::filesystem::path> own_layers;   // made by us, owned by the sandbox's ids
  std::vector<std::filesystem::path> host_layers;  // below those; owned by the machine's ids
};

// Whether everybody on the machine may read it; a folder: list and enter it. What is not so is a secret.
bool is_public(const struct stat& status);

// Makes skeleton and masks below `folder`, owned by `owner` (-1: the caller).
Result<std::vector<ImageVolume>> make_host_image(const std::filesystem::path& folder, OverlayXattrs xattrs,
                                                 std::int64_t owner);

// The folders that every root needs, as the lowest layer of an image that may lack them.
Result<std::filesystem::path> make_skeleton(const std::filesystem::path& folder, bool with_host_links,
                                            std::int64_t owner);

}  // namespace forkpoint::sandbox
