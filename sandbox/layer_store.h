// LayerStore: the folder that holds unpacked layers, each by the digest of what it was made from.
//
//   <store>/<SHA-256>.user               whiteouts and opaque marks in user.overlay.*
//   <store>/<SHA-256>.trusted.uid65536   in trusted.overlay.*; owners from 65536 up
//   <store>/unpack-XXXXXX                being made; a crash leaves it behind
//
// A layer's form depends on how it was unpacked, so that is part of its name. Movable, not copyable; one
// object is not synchronized, but many, of many processes, may work on one folder: a layer appears by rename,
// whole and on disk.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "core/temp_dir.h"
#include "sandbox/archive.h"
#include "sandbox/image.h"

namespace forkpoint::sandbox {

struct LayerId {
  std::string sha256_hex;
  TarDigest of = TarDigest::blob;
};

class LayerStore {
 public:
  // Makes the folder where it is not there, for its owner only: images bring setuid files.
  static Result<LayerStore> open(const UnpackOptions& options);

  std::filesystem::path path_of(const std::string& sha256_hex) const;
  bool has(const std::string& sha256_hex) const;

  // The layer's folder, unpacked from `blob` if it is not there yet. What is unpacked is charged to a budget
  // that all calls share. Errors: those of unpack_tar, and `bad_image` where the blob has another digest.
  Result<std::filesystem::path> unpack(const LayerId& id, int blob, const std::string& name);

  // A folder inside the store, gone with its owner.
  Result<core::TempDir> make_draft() const;

  const UnpackOptions& options() const { return options_; }

 private:
  explicit LayerStore(const UnpackOptions& options);

  UnpackOptions options_;
  UnpackBudget budget_;
};

}  // namespace forkpoint::sandbox
