// LayerFolders: overlay layers made by hand, in a temporary folder, marked with user.overlay.* xattrs.
//
// Layers are named by one letter or word; the files in them by relative paths. What can't be made fails the
// test.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/temp_dir.h"
#include "sandbox/overlay_view.h"

namespace forkpoint::tests {

class LayerFolders {
 public:
  std::filesystem::path path(std::string_view relative) const { return temp_.path() / relative; }

  void write(std::string_view relative, std::string_view content, mode_t mode = 0644) const {
    folder(std::filesystem::path(relative).parent_path().native());
    std::ofstream(path(relative), std::ios::binary) << content;
    ASSERT_EQ(::chmod(path(relative).c_str(), mode), 0) << relative;
  }

  void folder(std::string_view relative, mode_t mode = 0755) const {
    if (std::filesystem::exists(path(relative))) return;
    std::filesystem::create_directories(path(relative));
    ASSERT_EQ(::chmod(path(relative).c_str(), mode), 0) << relative;
  }

  void link(std::string_view relative, std::string_view target) const {
    folder(std::filesystem::path(relative).parent_path().native());
    std::filesystem::create_symlink(target, path(relative));
  }

  void whiteout(std::string_view relative) const {
    folder(std::filesystem::path(relative).parent_path().native());
    ASSERT_EQ(::mknod(path(relative).c_str(), S_IFCHR, 0), 0) << relative;
  }

  // The xattr user.overlay.<name>.
  void mark(std::string_view relative, const std::string& name, std::string_view value) const {
    const std::string xattr = "user.overlay." + name;
    ASSERT_EQ(::setxattr(path(relative).c_str(), xattr.c_str(), value.data(), value.size(), 0), 0)
        << relative << ": the file system of the temporary folder has no user xattrs";
  }

  // Top first.
  std::vector<std::filesystem::path> layers(std::initializer_list<std::string_view> names) const {
    std::vector<std::filesystem::path> paths;
    for (const std::string_view name : names) paths.push_back(path(name));
    return paths;
  }
  sandbox::OverlayView view(std::initializer_list<std::string_view> names) const {
    return {layers(names), sandbox::OverlayXattrs::user};
  }

 private:
  core::TempDir temp_ = *core::TempDir::create("forkpoint-layers-");
};

// "dir" and "dir/file" for all that a view shows below a folder, sorted as it gives them.
inline std::vector<std::string> paths_of(const sandbox::OverlayView& view, const sandbox::ViewEntry& folder,
                                         const std::string& parent = "") {
  std::vector<std::string> paths;
  const auto entries = view.list(folder);
  EXPECT_TRUE(entries.has_value()) << (entries ? "" : entries.error().to_line());
  if (!entries) return paths;
  for (const sandbox::ViewEntry& entry : *entries) {
    paths.push_back(parent + entry.name);
    if (entry.type != 'd') continue;
    for (std::string& below : paths_of(view, entry, parent + entry.name + "/"))
      paths.push_back(std::move(below));
  }
  return paths;
}

inline std::vector<std::string> paths_of(const sandbox::OverlayView& view) {
  const auto root = view.find("");
  EXPECT_TRUE(root.has_value()) << (root ? "" : root.error().to_line());
  return root ? paths_of(view, *root) : std::vector<std::string>();
}

}  // namespace forkpoint::tests
