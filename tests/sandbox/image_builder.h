// Small archives and images for tests, made on the spot.
//
// Functions without state but the files they write; failures to write stop the test program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace forkpoint::tests {

struct Item {
  std::string path = {};
  char type = 'f';        // f file, d folder, l symbolic link, h hard link, p fifo, c character device
  std::string text = {};  // of files; the target of links
  mode_t mode = 0644;     // folders get 0755 where this stands
  std::int64_t uid = 0;
  std::int64_t mtime_s = 1'000'000'000;
  std::vector<std::pair<std::string, std::string>> xattrs = {};
};

enum class Compression { none, gzip, zstd, xz };

std::string tar_of(const std::vector<Item>& items, Compression compression = Compression::none);

std::string digest_of(std::string_view bytes);  // "sha256:..."

// The config of an image whose layers are the tars, for this machine.
Json config_of(const std::vector<std::string>& tars);

// Puts a blob into an OCI layout's folder. Returns its descriptor.
Json add_blob(const std::filesystem::path& folder, std::string_view bytes, const std::string& media_type);

// Puts manifest, config and layers into an OCI layout's folder, not the index. Returns the manifest's
// descriptor.
Json add_image(const std::filesystem::path& folder, const std::vector<std::string>& layer_blobs,
               const Json& config);

void write_index(const std::filesystem::path& folder, const Json& descriptors);

// A whole layout with one image.
void write_oci(const std::filesystem::path& folder, const std::vector<std::string>& layer_blobs);

// All files of a folder, for tar_of().
std::vector<Item> items_of(const std::filesystem::path& folder);

// What `docker save` wrote before it wrote OCI layouts.
std::vector<Item> docker_items(const std::vector<std::string>& tars);

void write(const std::filesystem::path& path, std::string_view bytes);
std::string read(const std::filesystem::path& path);

}  // namespace forkpoint::tests
