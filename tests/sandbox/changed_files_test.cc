#include "sandbox/changed_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "sandbox/tree_hash.h"
#include "tests/sandbox/layer_folders.h"

namespace forkpoint::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using tests::LayerFolders;

// "KIND TYPE MODE PATH" of each change.
std::vector<std::string> changes(const OverlayView& before, const OverlayView& now,
                                 std::string_view prefix = "") {
  const auto files = changed_files(before, now, prefix);
  EXPECT_TRUE(files.has_value()) << (files ? "" : files.error().to_line());
  std::vector<std::string> lines;
  if (!files) return lines;
  for (const ChangedFile& file : *files) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%o", file.mode);
    lines.push_back(std::string(to_string(file.kind)) + " " + file.type + " " + mode + " " + file.path);
  }
  return lines;
}

TEST(ChangedFiles, FindsEachKindOfChange) {
  LayerFolders disk;
  disk.write("base/edited", "old");
  disk.write("base/script", "same");
  disk.write("base/rewritten", "same");
  disk.write("base/removed", "");
  disk.write("base/untouched", "");
  disk.link("base/link", "old");
  disk.write("up/edited", "new");
  disk.write("up/script", "same", 0755);
  disk.write("up/rewritten", "same");
  disk.whiteout("up/removed");
  disk.write("up/added", "", 0600);
  disk.link("up/link", "new");
  EXPECT_THAT(changes(disk.view({"base"}), disk.view({"up", "base"}), "/workspace"),
              ElementsAre("added f 600 /workspace/added", "modified f 644 /workspace/edited",
                          "modified l 777 /workspace/link", "deleted f 0 /workspace/removed",
                          "mode f 755 /workspace/script"));
}

TEST(ChangedFiles, ListsAllBelowAddedAndDeletedFoldersInTheOrderOfPaths) {
  LayerFolders disk;
  disk.write("base/old/sub/file", "");
  disk.whiteout("up/old");
  disk.write("up/new/sub/file", "");
  disk.write("up/new.txt", "");
  EXPECT_THAT(changes(disk.view({"base"}), disk.view({"up", "base"})),
              ElementsAre("added d 755 /new", "added f 644 /new.txt", "added d 755 /new/sub",
                          "added f 644 /new/sub/file", "deleted d 0 /old", "deleted d 0 /old/sub",
                          "deleted f 0 /old/sub/file"));
}

TEST(ChangedFiles, TellsWhatAChangeOfTypeTookAwayOrBrought) {
  LayerFolders disk;
  disk.write("base/a/file", "");
  disk.write("base/b", "");
  disk.write("up/a", "");
  disk.write("up/b/file", "");
  EXPECT_THAT(
      changes(disk.view({"base"}), disk.view({"up", "base"})),
      ElementsAre("modified f 644 /a", "deleted f 0 /a/file", "modified d 755 /b", "added f 644 /b/file"));
}

TEST(ChangedFiles, SeesARenamedFolderAtBothPlaces) {
  LayerFolders disk;
  disk.write("base/old/file", "");
  disk.whiteout("up/old");
  disk.folder("up/new", 0700);
  disk.mark("up/new", "redirect", "old");
  EXPECT_THAT(
      changes(disk.view({"base"}), disk.view({"up", "base"})),
      ElementsAre("added d 700 /new", "added f 644 /new/file", "deleted d 0 /old", "deleted f 0 /old/file"));
}

TEST(ChangedFiles, ComparesFoldersByModeAlone) {
  LayerFolders disk;
  disk.write("base/d/file", "");
  disk.folder("up/d", 0700);
  EXPECT_THAT(changes(disk.view({"base"}), disk.view({"up", "base"})), ElementsAre("mode d 700 /d"));
}

TEST(ChangedFiles, ComparesBranchesOfOneBase) {
  LayerFolders disk;
  disk.write("base/file", "base");
  disk.write("left/file", "left");
  disk.write("left/both", "x");
  disk.write("right/both", "x");
  EXPECT_THAT(changes(disk.view({"left", "base"}), disk.view({"right", "base"})),
              ElementsAre("modified f 644 /file"));
}

TEST(ChangedFiles, ReadsNoFileThatBothViewsTakeFromOnePlace) {
  LayerFolders disk;
  disk.write("base/d/huge", "");
  std::filesystem::resize_file(disk.path("base/d/huge"), std::uintmax_t{1} << 40);  // would take hours
  disk.write("up/d/other", "");
  EXPECT_THAT(changes(disk.view({"base"}), disk.view({"up", "base"})), ElementsAre("added f 644 /d/other"));
  std::filesystem::create_hard_link(disk.path("base/d/huge"), disk.path("up/d/huge"));
  EXPECT_THAT(changes(disk.view({"base"}), disk.view({"up", "base"})), ElementsAre("added f 644 /d/other"));
}

TEST(ChangedFiles, TellsDevicesApart) {
  if (::geteuid() != 0) GTEST_SKIP() << "making devices needs root";
  LayerFolders disk;
  disk.folder("base");
  disk.folder("up");
  for (const unsigned minor : {3U, 5U}) {
    const std::string name = "dev" + std::to_string(minor);
    ASSERT_EQ(::mknod(disk.path("base/" + name).c_str(), S_IFCHR | 0644, makedev(1, 3)), 0);
    ASSERT_EQ(::mknod(disk.path("up/" + name).c_str(), S_IFCHR | 0644, makedev(1, minor)), 0);
  }
  EXPECT_THAT(changes(disk.view({"base"}), disk.view({"up", "base"})), ElementsAre("modified c 644 /dev5"));
  EXPECT_NE(*tree_hash(disk.view({"base"}), {}), *tree_hash(disk.view({"up"}), {}));
}

TEST(ChangedFiles, FindsNothingBetweenAViewAndItself) {
  LayerFolders disk;
  disk.write("base/d/file", "");
  EXPECT_THAT(changes(disk.view({"base"}), disk.view({"base"})), IsEmpty());
}

}  // namespace
}  // namespace forkpoint::sandbox
