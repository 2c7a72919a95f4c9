#include "sandbox/image_manifest.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sandbox/image_error.h"

namespace forkpoint::sandbox {
namespace {

// Null where `object` is none or has no such member: the documents leave much out, or set it to null.
const Json& member(const Json& object, const char* key) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

// The string member; empty where there is none.
Result<std::string> text_of(const Json& object, const char* key, const std::string& name) {
  const Json& value = member(object, key);
  if (value.is_null()) return std::string();
  if (!value.is_string() || value.get_ref<const std::string&>().find('\0') != std::string::npos) {
    return bad_image(fmt::format("{}: \"{}\" is not a text", name, key));
  }
  return value.get<std::string>();
}

// The array member, each element a text; empty where there is none.
Result<std::vector<std::string>> texts_of(const Json& object, const char* key, const std::string& name) {
  const Json& value = member(object, key);
  std::vector<std::string> texts;
  if (value.is_null()) return texts;
  const auto is_text = [](const Json& element) {
    return element.is_string() && element.get_ref<const std::string&>().find('\0') == std::string::npos;
  };
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_text)) {
    return bad_image(fmt::format("{}: \"{}\" is not a list of texts", name, key));
  }
  for (const Json& element : value) texts.push_back(element.get<std::string>());
  return texts;
}

Result<std::string> sha256_of(const std::string& digest, const std::string& name) {
  constexpr std::string_view kPrefix = "sha256:";
  if (digest.starts_with(kPrefix) && is_sha256_hex(digest.substr(kPrefix.size()))) {
    return digest.substr(kPrefix.size());
  }
  return bad_image(fmt::format("{}: not a SHA-256 digest: \"{:.100}\"", name, digest));
}

Result<std::string> digest_of(const Json& descriptor, const std::string& name) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::string digest, text_of(descriptor, "digest", name));
  return sha256_of(digest, name);
}

Result<void> check_layer_count(std::size_t count, const std::string& name) {
  if (count == 0) return bad_image(fmt::format("{}: no layers", name));
  if (count > kImageLayersMax) {
    return bad_image(fmt::format("{}: {} layers, more than {}", name, count, kImageLayersMax));
  }
  return {};
}

}  // namespace

std::string host_architecture() {
  utsname machine{};
  ::uname(&machine);
  const std::string_view name = machine.machine;
  if (name == "x86_64") return "amd64";
  if (name == "aarch64") return "arm64";
  if (name == "i686") return "386";
  if (name.starts_with("arm")) return "arm";
  return std::string(name);  // riscv64, ppc64le, s390x are called the same
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<Json> parse_document(std::string_view text, const std::string& name) {
  Result<Json> document = core::parse_json(text, name, {.bytes_max = kManifestBytesMax});
  if (!document) return bad_image(document.error().message);
  return document;
}

bool is_index(const Json& document) { return member(document, "manifests").is_array(); }

Result<std::string> choose_manifest(const Json& index, const std::string& architecture,
                                    const std::string& name) {
  std::set<std::string> ours;
  std::set<std::string> ours_plain;  // without a variant: what runs on all machines of the architecture
  std::set<std::string> unnamed;
  std::set<std::string> others;
  for (const Json& entry : member(index, "manifests")) {
    const Json& platform = member(entry, "platform");
    FORKPOINT_ASSIGN_OR_RETURN(const std::string digest, digest_of(entry, name));
    FORKPOINT_ASSIGN_OR_RETURN(const std::string os, text_of(platform, "os", name));
    FORKPOINT_ASSIGN_OR_RETURN(const std::string machine, text_of(platform, "architecture", name));
    FORKPOINT_ASSIGN_OR_RETURN(const std::string variant, text_of(platform, "variant", name));
    if (platform.is_null()) {
      unnamed.insert(digest);
    } else if (os != "linux" || machine != architecture) {
      others.insert(fmt::format("{}/{}", os, machine));
    } else {
      ours.insert(digest);
      if (variant.empty()) ours_plain.insert(digest);
    }
  }
  if (ours.size() > 1 && ours_plain.size() == 1) ours = ours_plain;
  const std::set<std::string>& found = ours.empty() ? unnamed : ours;
  if (found.size() == 1) return *found.begin();
  if (found.empty()) {
    return bad_image(fmt::format("{}: nothing for linux/{}, only for {}", name, architecture,
                                 others.empty() ? "nothing" : fmt::format("{}", fmt::join(others, ", "))));
  }
  Error error = bad_image(fmt::format("{}: {} images for linux/{}", name, found.size(), architecture));
  error.advice = "save the image that is wanted by itself";
  return error;
}

Result<OciManifest> read_manifest(const Json& manifest, const std::string& name) {
  OciManifest result;
  const Json& layers = member(manifest, "layers");
  FORKPOINT_RETURN_IF_ERROR(check_layer_count(layers.is_array() ? layers.size() : 0, name));
  FORKPOINT_ASSIGN_OR_RETURN(result.config, digest_of(member(manifest, "config"), name));
  for (const Json& layer : layers) {
    FORKPOINT_ASSIGN_OR_RETURN(std::string digest, digest_of(layer, name));
    result.layers.push_back(std::move(digest));
  }
  return result;
}

Result<DockerManifest> read_docker_manifest(const Json& manifest, const std::string& name) {
  if (!manifest.is_array() || manifest.empty()) return bad_image(fmt::format("{}: names no image", name));
  if (manifest.size() > 1) {
    Error error = bad_image(fmt::format("{}: {} images", name, manifest.size()));
    error.advice = "save the image that is wanted by itself";
    return error;
  }
  DockerManifest result;
  FORKPOINT_ASSIGN_OR_RETURN(result.config_path, text_of(manifest[0], "Config", name));
  FORKPOINT_ASSIGN_OR_RETURN(result.layer_paths, texts_of(manifest[0], "Layers", name));
  FORKPOINT_RETURN_IF_ERROR(check_layer_count(result.layer_paths.size(), name));
  return result;
}

Result<ImageConfig> read_image_config(const Json& config, const std::string& architecture,
                                      const std::string& name) {
  FORKPOINT_ASSIGN_OR_RETURN(const std::string os, text_of(config, "os", name));
  FORKPOINT_ASSIGN_OR_RETURN(const std::string machine, text_of(config, "architecture", name));
  if ((!os.empty() && os != "linux") || (!machine.empty() && machine != architecture)) {
    return bad_image(
        fmt::format("{}: for {}/{}, but this machine is linux/{}", name, os, machine, architecture));
  }
  ImageConfig result;
  const Json& run = member(config, "config");
  FORKPOINT_ASSIGN_OR_RETURN(result.working_folder, text_of(run, "WorkingDir", name));
  FORKPOINT_ASSIGN_OR_RETURN(const std::vector<std::string> variables, texts_of(run, "Env", name));
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    // Without "=" it would take the value of the machine's own environment, which is none of the image's
    // business.
    if (equals == std::string::npos || equals == 0) continue;
    result.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  FORKPOINT_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                             texts_of(member(config, "rootfs"), "diff_ids", name));
  for (const std::string& id : ids) {
    FORKPOINT_ASSIGN_OR_RETURN(std::string digest, sha256_of(id, name));
    result.diff_ids.push_back(std::move(digest));
  }
  return result;
}

}  // namespace forkpoint::sandbox
