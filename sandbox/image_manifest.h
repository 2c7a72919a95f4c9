// The JSON documents of images: OCI's index, manifest and config, and the manifest.json of `docker save`.
//
// Formats: OCI Image Format Specification 1.1 and its Docker forerunners (manifest list, schema 2). Untrusted
// text in, plain values out; pure functions but host_architecture(). Digests are the 64 hex digits of a
// SHA-256. `name` is for errors, which are all `bad_image`.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace forkpoint::sandbox {

inline constexpr std::size_t kManifestBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kImageLayersMax = 500;  // overlayfs takes no more

// This machine's, as images name it: "amd64", "arm64".
std::string host_architecture();

// Whether this is the 64 lower-case hex digits of a SHA-256.
bool is_sha256_hex(std::string_view text);

Result<Json> parse_document(std::string_view text, const std::string& name);

bool is_index(const Json& document);

// The digest of the manifest (or further index) for Linux on `architecture`. An entry that names no platform
// is taken where none names ours.
Result<std::string> choose_manifest(const Json& index, const std::string& architecture,
                                    const std::string& name);

struct OciManifest {
  std::string config;
  std::vector<std::string> layers;  // lowest first
};
Result<OciManifest> read_manifest(const Json& manifest, const std::string& name);

struct DockerManifest {
  std::string config_path;               // within the archive
  std::vector<std::string> layer_paths;  // lowest first
};
Result<DockerManifest> read_docker_manifest(const Json& manifest, const std::string& name);

struct ImageConfig {
  std::map<std::string, std::string> environment;
  std::string working_folder;
  std::vector<std::string> diff_ids;  // digests of the layers' tars without compression, lowest first
};
// An error too where the config is for another platform.
Result<ImageConfig> read_image_config(const Json& config, const std::string& architecture,
                                      const std::string& name);

}  // namespace forkpoint::sandbox
