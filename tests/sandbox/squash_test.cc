#include "sandbox/squash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/file.h"
#include "sandbox/layer_file.h"
#include "sandbox/tree_hash.h"
#include "tests/sandbox/layer_folders.h"

namespace forkpoint::sandbox {
namespace {

using ::testing::ElementsAre;
using tests::LayerFolders;
using tests::paths_of;

struct stat status_at(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status;
}

// Squashes the topmost `count` into "new" and expects the same tree of it and what remains.
void squash_and_compare(const LayerFolders& disk, std::initializer_list<std::string_view> names,
                        std::size_t count) {
  const std::vector<std::filesystem::path> layers = disk.layers(names);
  const auto done = squash(layers, count, OverlayXattrs::user, disk.path("new"));
  ASSERT_TRUE(done.has_value()) << done.error().to_line();
  std::vector<std::filesystem::path> after(layers.begin() + static_cast<std::ptrdiff_t>(count), layers.end());
  after.insert(after.begin(), disk.path("new"));
  const OverlayView before_view(layers, OverlayXattrs::user);
  const OverlayView after_view(after, OverlayXattrs::user);
  EXPECT_EQ(paths_of(after_view), paths_of(before_view));
  EXPECT_EQ(*tree_hash(after_view, {}), *tree_hash(before_view, {}));
}

TEST(Squash, LinksTheTopmostFilesOfTheLayersItTakes) {
  LayerFolders disk;
  disk.write("base/d/low", "");
  disk.write("b/d/file", "old");
  disk.write("b/d/kept", "");
  disk.write("a/d/file", "new");
  squash_and_compare(disk, {"a", "b", "base"}, 2);
  EXPECT_TRUE(std::filesystem::equivalent(disk.path("new/d/file"), disk.path("a/d/file")));
  EXPECT_TRUE(std::filesystem::equivalent(disk.path("new/d/kept"), disk.path("b/d/kept")));
  EXPECT_FALSE(std::filesystem::exists(disk.path("new/d/low")));
}

TEST(Squash, KeepsTheWhiteoutsThatStillHideSomething) {
  LayerFolders disk;
  disk.write("base/low", "");
  disk.write("b/middle", "");
  disk.whiteout("a/low");
  disk.whiteout("a/middle");
  squash_and_compare(disk, {"a", "b", "base"}, 2);
  EXPECT_THAT(*names_in(disk.path("new")), ElementsAre("low"));
  EXPECT_EQ(type_of(status_at(disk.path("new/low")).st_mode), 'c');
}

TEST(Squash, KeepsTheOpaqueMarksThatStillHideSomething) {
  LayerFolders disk;
  disk.write("base/low/file", "");
  disk.write("b/middle/file", "");
  for (const std::string name : {"a/low", "a/middle"}) {
    disk.folder(name);
    disk.mark(name, "opaque", "y");
  }
  squash_and_compare(disk, {"a", "b", "base"}, 2);
  EXPECT_EQ(*xattr_of(disk.path("new/low"), "user.overlay.opaque"), "y");
  EXPECT_EQ(*xattr_of(disk.path("new/middle"), "user.overlay.opaque"), std::nullopt);
}

TEST(Squash, HidesWhatAFolderMadeAboveAWhiteoutWouldBeMergedWith) {
  LayerFolders disk;
  disk.write("base/d/low", "");
  disk.whiteout("b/d");
  disk.write("a/d/new", "");
  squash_and_compare(disk, {"a", "b", "base"}, 2);
  EXPECT_EQ(*xattr_of(disk.path("new/d"), "user.overlay.opaque"), "y");
}

TEST(Squash, WritesARenamedFolderOutInFullAndLeavesTheOriginalAlone) {
  LayerFolders disk;
  disk.write("base/old/sub/low", "content", 0640);
  disk.link("base/old/link", "low");
  ASSERT_EQ(::mkfifo(disk.path("base/old/pipe").c_str(), 0600), 0);
  disk.write("base/new/hidden", "");
  disk.whiteout("a/old");
  disk.write("a/new/sub/high", "");
  disk.mark("a/new", "redirect", "old");
  const struct stat original = status_at(disk.path("base/old/sub/low"));
  squash_and_compare(disk, {"a", "base"}, 1);
  EXPECT_EQ(*xattr_of(disk.path("new/new"), "user.overlay.opaque"), "y");
  EXPECT_EQ(*xattr_of(disk.path("new/new"), "user.overlay.redirect"), std::nullopt);
  EXPECT_EQ(*core::read_file(disk.path("new/new/sub/low")), "content");
  EXPECT_EQ(status_at(disk.path("new/new/sub/low")).st_mtim.tv_nsec, original.st_mtim.tv_nsec);
  EXPECT_EQ(status_at(disk.path("base/old/sub/low")).st_nlink, 1u);
}

TEST(Squash, KeepsTheHolesOfWhatItCopies) {
  LayerFolders disk;
  disk.write("base/old/sparse", "");
  std::filesystem::resize_file(disk.path("base/old/sparse"), std::uintmax_t{64} << 20);
  std::ofstream(disk.path("base/old/sparse"), std::ios::in | std::ios::binary).seekp(32 << 20)
      << "in the middle";
  disk.whiteout("a/old");
  disk.folder("a/new");
  disk.mark("a/new", "redirect", "old");
  squash_and_compare(disk, {"a", "base"}, 1);
  EXPECT_LT(status_at(disk.path("new/new/sparse")).st_blocks * 512, 1 << 20);
}

TEST(Squash, KeepsModesTimesAndXattrsOfFolders) {
  LayerFolders disk;
  disk.write("b/d/file", "");
  disk.folder("a/d");
  ASSERT_EQ(::chmod(disk.path("a/d").c_str(), 02750), 0);
  ASSERT_EQ(::setxattr(disk.path("a/d").c_str(), "user.note", "text", 4, 0), 0);
  disk.mark("a/d", "overlay.opaque", "y");  // what "user.overlay.opaque", set inside a mount, is on disk
  disk.mark("a/d", "origin", "of a");
  std::filesystem::last_write_time(disk.path("a/d"),
                                   std::filesystem::file_time_type{} + std::chrono::seconds(7));
  squash_and_compare(disk, {"a", "b"}, 2);
  EXPECT_EQ(status_at(disk.path("new/d")).st_mode & 07777U, 02750u);
  EXPECT_EQ(std::filesystem::last_write_time(disk.path("new/d")),
            std::filesystem::last_write_time(disk.path("a/d")));
  std::vector<std::string> names = *xattr_names(disk.path("new/d"));
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("user.note", "user.overlay.overlay.opaque"));
}

TEST(Squash, RefusesAPlaceThatIsTakenAndTouchesNothingThere) {
  LayerFolders disk;
  disk.write("a/file", "");
  disk.write("new/precious", "");
  const auto done = squash(disk.layers({"a"}), 1, OverlayXattrs::user, disk.path("new"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "layer_unwritable");
  EXPECT_THAT(*names_in(disk.path("new")), ElementsAre("precious"));
}

TEST(Squash, LeavesNothingBehindWhenItFails) {
  LayerFolders disk;
  disk.write("a/a/file", "");
  disk.folder("a/b");
  disk.mark("a/b", "redirect", "..");
  const auto done = squash(disk.layers({"a"}), 1, OverlayXattrs::user, disk.path("new"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "bad_layer");
  EXPECT_FALSE(std::filesystem::exists(disk.path("new")));
}

}  // namespace
}  // namespace forkpoint::sandbox
