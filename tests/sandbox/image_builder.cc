#include "tests/sandbox/image_builder.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <fstream>
#include <memory>

#include "core/check.h"
#include "core/file.h"
#include "core/hash.h"
#include "sandbox/image_manifest.h"

namespace forkpoint::tests {
namespace {

namespace fs = std::filesystem;

la_ssize_t append(archive*, void* text, const void* bytes, std::size_t count) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), count);
  return static_cast<la_ssize_t>(count);
}

void fill(archive_entry* entry, const Item& item) {
  archive_entry_set_pathname(entry, item.path.c_str());
  archive_entry_set_perm(entry, item.type == 'd' && item.mode == 0644 ? 0755 : item.mode);
  archive_entry_set_uid(entry, item.uid);
  archive_entry_set_gid(entry, item.uid);
  archive_entry_set_mtime(entry, item.mtime_s, 0);
  archive_entry_set_size(entry, 0);
  for (const auto& [name, value] : item.xattrs) {
    archive_entry_xattr_add_entry(entry, name.c_str(), value.data(), value.size());
  }
  switch (item.type) {
    case 'd': archive_entry_set_filetype(entry, AE_IFDIR); break;
    case 'l':
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_set_symlink(entry, item.text.c_str());
      break;
    case 'h':
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_hardlink(entry, item.text.c_str());
      break;
    case 'p': archive_entry_set_filetype(entry, AE_IFIFO); break;
    case 'c': archive_entry_set_filetype(entry, AE_IFCHR); break;
    default:
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_size(entry, static_cast<la_int64_t>(item.text.size()));
  }
}

}  // namespace

std::string tar_of(const std::vector<Item>& items, Compression compression) {
  std::string bytes;
  const std::unique_ptr<archive, int (*)(archive*)> writer(archive_write_new(), archive_write_free);
  archive_write_set_format_pax_restricted(writer.get());
  switch (compression) {
    case Compression::none: break;
    case Compression::gzip: archive_write_add_filter_gzip(writer.get()); break;
    case Compression::zstd: archive_write_add_filter_zstd(writer.get()); break;
    case Compression::xz: archive_write_add_filter_xz(writer.get()); break;
  }
  // No zeros behind the end of a compressed blob: zstd has no use for them.
  archive_write_set_bytes_in_last_block(writer.get(), 1);
  archive_write_set_options(writer.get(), "hdrcharset=BINARY");
  FORKPOINT_CHECK(archive_write_open(writer.get(), &bytes, nullptr, append, nullptr) == ARCHIVE_OK,
                  "no archive");
  for (const Item& item : items) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                         archive_entry_free);
    fill(entry.get(), item);
    FORKPOINT_CHECK(archive_write_header(writer.get(), entry.get()) >= ARCHIVE_WARN,
                    archive_error_string(writer.get()));
    if (item.type == 'f') archive_write_data(writer.get(), item.text.data(), item.text.size());
  }
  FORKPOINT_CHECK(archive_write_close(writer.get()) == ARCHIVE_OK, "archive not closed");
  return bytes;
}

std::string digest_of(std::string_view bytes) { return "sha256:" + core::sha256(bytes).to_hex(); }

Json config_of(const std::vector<std::string>& tars) {
  Json ids = Json::array();
  for (const std::string& tar : tars) ids.push_back(digest_of(tar));
  return {{"architecture", sandbox::host_architecture()},
          {"os", "linux"},
          {"config", {{"Env", {"PATH=/usr/bin:/bin", "EMPTY=", "A=b=c"}}, {"WorkingDir", "/work"}}},
          {"rootfs", {{"type", "layers"}, {"diff_ids", ids}}}};
}

Json add_blob(const fs::path& folder, std::string_view bytes, const std::string& media_type) {
  const std::string digest = digest_of(bytes);
  write(folder / "blobs" / "sha256" / digest.substr(7), bytes);
  return {{"mediaType", media_type}, {"digest", digest}, {"size", bytes.size()}};
}

Json add_image(const fs::path& folder, const std::vector<std::string>& layer_blobs, const Json& config) {
  Json layers = Json::array();
  for (const std::string& blob : layer_blobs) {
    layers.push_back(add_blob(folder, blob, "application/vnd.oci.image.layer.v1.tar+gzip"));
  }
  const Json manifest = {
      {"schemaVersion", 2},
      {"config", add_blob(folder, config.dump(), "application/vnd.oci.image.config.v1+json")},
      {"layers", layers}};
  return add_blob(folder, manifest.dump(), "application/vnd.oci.image.manifest.v1+json");
}

void write_index(const fs::path& folder, const Json& descriptors) {
  write(folder / "oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
  write(folder / "index.json", Json{{"schemaVersion", 2}, {"manifests", descriptors}}.dump());
}

void write_oci(const fs::path& folder, const std::vector<std::string>& layer_blobs) {
  write_index(folder, Json::array({add_image(folder, layer_blobs, config_of({}))}));
}

std::vector<Item> items_of(const fs::path& folder) {
  std::vector<Item> items;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    items.push_back({.path = fs::relative(entry.path(), folder), .text = read(entry.path())});
  }
  return items;
}

std::vector<Item> docker_items(const std::vector<std::string>& tars) {
  std::vector<Item> items;
  Json layers = Json::array();
  for (std::size_t i = 0; i < tars.size(); ++i) {
    const std::string path = fmt::format("{:064x}/layer.tar", i + 1);
    layers.push_back(path);
    items.push_back({.path = path, .text = tars[i]});
  }
  const std::string config = config_of(tars).dump();
  const std::string config_path = digest_of(config).substr(7) + ".json";
  items.push_back({.path = config_path, .text = config});
  const Json manifest = {{"Config", config_path}, {"RepoTags", {"test:latest"}}, {"Layers", layers}};
  items.push_back({.path = "manifest.json", .text = Json::array({manifest}).dump()});
  return items;
}

void write(const fs::path& path, std::string_view bytes) {
  // Not core::write_file: it waits for the disk.
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  FORKPOINT_CHECK(file.good(), path.native());
}

std::string read(const fs::path& path) { return core::read_file(path).value(); }

}  // namespace forkpoint::tests
