// StateFolder: where one launcher keeps layers and uppers, and what a dead one left behind.
//
//   BASE/ID/lock        held (flock) while the launcher lives: who gets it knows that the owner is dead
//   BASE/ID/layers/N    immutable once they have this name
//   BASE/ID/live/N/     uppers and work folders of sandbox N
//   BASE/ID/gone/       what waits for removal
//
// Single-threaded. The folder outlives the object: the janitor removes it (janitor.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"

namespace forkpoint::sandbox {

class StateFolder {
 public:
  // `owner`: the user and group id that everything in it belongs to; -1 for the caller's own.
  // `group`: who else may pass through `base`, which is closed otherwise; -1: nobody.
  static Result<StateFolder> create(const std::filesystem::path& base, std::int64_t owner,
                                    std::int64_t group = -1);

  StateFolder(StateFolder&&) noexcept = default;
  StateFolder& operator=(StateFolder&&) noexcept = default;

  const std::filesystem::path& path() const { return path_; }
  const std::string& id() const { return id_; }
  int lock() const { return lock_.get(); }

  // A new empty folder "live/N" or a new name "layers/N".
  Result<std::filesystem::path> make_live_folder();
  std::filesystem::path new_layer_path();

  // Moves `folder` to "gone" at once, and says where it is now; empty where it can't be moved.
  std::filesystem::path set_aside(const std::filesystem::path& folder);

 private:
  StateFolder() = default;

  std::filesystem::path path_;
  std::string id_;
  core::UniqueFd lock_;
  std::int64_t owner_ = -1;
  std::uint64_t next_ = 0;
};

// Removes the state folders below `base` whose launcher is dead, and says which ids those were.
std::vector<std::string> sweep_state_folders(const std::filesystem::path& base);

}  // namespace forkpoint::sandbox
