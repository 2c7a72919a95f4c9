#include "sandbox/overlay_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sandbox/layer_folders.h"

namespace forkpoint::sandbox {
namespace {

using ::testing::ElementsAre;
using tests::LayerFolders;
using tests::paths_of;

TEST(OverlayView, ShowsTheTopmostFileOfEachName) {
  LayerFolders disk;
  disk.write("base/a", "old");
  disk.write("base/b", "only");
  disk.write("top/a", "newer", 0751);
  const OverlayView view = disk.view({"top", "base"});

  const auto entries = view.root();
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  const ViewEntry& a = entries->at(0);
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type, 'f');
  EXPECT_EQ(a.mode, 0751u);
  EXPECT_EQ(a.size_bytes, 5u);
  EXPECT_EQ(a.source, disk.path("top/a"));
  EXPECT_EQ(a.layer, 0u);
  EXPECT_EQ(entries->at(1).source, disk.path("base/b"));
  EXPECT_EQ(entries->at(1).layer, 1u);
}

TEST(OverlayView, MergesFoldersAndNamesTheirSources) {
  LayerFolders disk;
  disk.write("base/src/low", "");
  disk.write("middle/other", "");
  disk.folder("top/src", 0700);
  disk.write("top/src/high", "");
  const OverlayView view = disk.view({"top", "middle", "base"});

  const auto src = view.find("src");
  ASSERT_TRUE(src);
  EXPECT_EQ(src->type, 'd');
  EXPECT_EQ(src->mode, 0700u);
  EXPECT_EQ(src->layer, 0u);
  EXPECT_THAT(src->sources, ElementsAre(disk.path("top/src"), disk.path("base/src")));
  EXPECT_THAT(src->source_layers, ElementsAre(0u, 2u));
  EXPECT_THAT(paths_of(view), ElementsAre("other", "src", "src/high", "src/low"));
}

TEST(OverlayView, TellsTypesApartAndFollowsNoLink) {
  LayerFolders disk;
  disk.write("base/target/file", "");
  disk.link("base/link", "target");
  ASSERT_EQ(::mkfifo(disk.path("base/pipe").c_str(), 0600), 0);
  const OverlayView view = disk.view({"base"});
  EXPECT_EQ(view.find("link")->type, 'l');
  EXPECT_EQ(view.find("link")->size_bytes, 6u);
  EXPECT_EQ(view.find("pipe")->type, 'p');
  EXPECT_EQ(view.find("target")->size_bytes, 0u);
  EXPECT_EQ(view.find("link/file").error().code, "no_such_file");
}

TEST(OverlayView, HidesWhatIsWhitedOut) {
  LayerFolders disk;
  disk.write("base/file", "");
  disk.write("base/folder/below", "");
  disk.write("base/kept", "");
  disk.whiteout("top/file");
  disk.whiteout("top/folder");
  disk.whiteout("top/of_nothing");
  EXPECT_THAT(paths_of(disk.view({"top", "base"})), ElementsAre("kept"));
  EXPECT_EQ(disk.view({"top", "base"}).find("folder/below").error().code, "no_such_file");
}

TEST(OverlayView, HidesWhatAnEmptyFileWithTheWhiteoutXattrStandsFor) {
  LayerFolders disk;
  disk.write("base/d/gone", "");
  disk.write("base/d/kept", "");
  disk.write("base/d/empty", "x");
  disk.write("top/d/gone", "");
  disk.write("top/d/empty", "");
  disk.mark("top/d/gone", "whiteout", "");
  disk.mark("top/d", "opaque", "x");
  const OverlayView view = disk.view({"top", "base"});
  EXPECT_THAT(paths_of(view), ElementsAre("d", "d/empty", "d/kept"));
  EXPECT_EQ(view.find("d/empty")->size_bytes, 0u);
}

TEST(OverlayView, ShowsWhatWasMadeAboveAWhiteout) {
  LayerFolders disk;
  disk.write("base/a/old", "");
  disk.whiteout("middle/a");
  disk.write("top/a/new", "");
  EXPECT_THAT(paths_of(disk.view({"top", "middle", "base"})), ElementsAre("a", "a/new"));
}

TEST(OverlayView, LooksNotBeneathAnOpaqueFolder) {
  LayerFolders disk;
  disk.write("base/a/old", "");
  disk.write("top/a/new", "");
  disk.mark("top/a", "opaque", "y");
  const OverlayView view = disk.view({"top", "base"});
  EXPECT_THAT(paths_of(view), ElementsAre("a", "a/new"));
  EXPECT_THAT(view.find("a")->sources, ElementsAre(disk.path("top/a")));
}

// Tried on the kernel, which takes the roots of all layers as they are.
TEST(OverlayView, IgnoresAnOpaqueMarkOnALayersRoot) {
  LayerFolders disk;
  disk.write("base/old", "");
  disk.write("top/new", "");
  disk.mark("top", "opaque", "y");
  EXPECT_THAT(paths_of(disk.view({"top", "base"})), ElementsAre("new", "old"));
}

TEST(OverlayView, IgnoresMarksOfTheOtherNamespace) {
  LayerFolders disk;
  disk.write("base/a/old", "");
  disk.write("top/a/new", "");
  disk.mark("top/a", "opaque", "y");
  const OverlayView view(disk.layers({"top", "base"}), OverlayXattrs::trusted);
  EXPECT_THAT(paths_of(view), ElementsAre("a", "a/new", "a/old"));
}

TEST(OverlayView, EndsAFolderAtAFile) {
  LayerFolders disk;
  disk.write("base/a/deep", "");
  disk.write("middle/a", "a file");
  disk.folder("top/a");
  EXPECT_THAT(paths_of(disk.view({"top", "middle", "base"})), ElementsAre("a"));
  EXPECT_EQ(disk.view({"middle", "base"}).find("a")->type, 'f');
}

TEST(OverlayView, FollowsAFolderRenamedInItsParent) {
  LayerFolders disk;
  disk.write("base/p/old/file", "");
  disk.whiteout("top/p/old");
  disk.folder("top/p/new");
  disk.mark("top/p/new", "redirect", "old");
  const OverlayView view = disk.view({"top", "base"});
  EXPECT_THAT(paths_of(view), ElementsAre("p", "p/new", "p/new/file"));
  EXPECT_THAT(view.find("p/new")->sources, ElementsAre(disk.path("top/p/new"), disk.path("base/p/old")));
}

TEST(OverlayView, FollowsAFolderRenamedFromElsewhereThroughAllLayersBeneath) {
  LayerFolders disk;
  disk.write("base/x/old/low", "");
  disk.write("middle/x/old/middle", "");
  disk.whiteout("top/x/old");
  disk.folder("top/y/new");
  disk.mark("top/y", "opaque", "y");
  disk.mark("top/y/new", "redirect", "/x/old");
  EXPECT_THAT(paths_of(disk.view({"top", "middle", "base"})),
              ElementsAre("x", "y", "y/new", "y/new/low", "y/new/middle"));
}

// Renamed in the lowest layer but one, and its parent again above: x/a -> x/b, then x -> y.
TEST(OverlayView, FollowsARenameOfARenamedFolder) {
  LayerFolders disk;
  disk.write("base/x/a/file", "");
  disk.whiteout("middle/x/a");
  disk.folder("middle/x/b");
  disk.mark("middle/x/b", "redirect", "a");
  disk.whiteout("top/x");
  disk.folder("top/y/b");
  disk.mark("top/y", "redirect", "x");
  disk.folder("top/z");
  disk.mark("top/z", "redirect", "/x/b");
  EXPECT_THAT(paths_of(disk.view({"top", "middle", "base"})),
              ElementsAre("y", "y/b", "y/b/file", "z", "z/file"));
}

TEST(OverlayView, StopsWhereAFolderOnTheWayIsOpaque) {
  LayerFolders disk;
  disk.write("base/x/a/low", "");
  disk.write("middle/x/a/middle", "");
  disk.mark("middle/x", "opaque", "y");
  disk.folder("top/z");
  disk.mark("top/z", "redirect", "/x/a");
  const OverlayView view = disk.view({"top", "middle", "base"});
  EXPECT_THAT(paths_of(view, *view.find("z")), ElementsAre("middle"));
}

// middle/x is opaque, and x/b in it was renamed there from old: base/old is seen through it, base/x is not.
TEST(OverlayView, GoesOnBehindAnOpaqueFolderWhereOneInItWasRenamedFromElsewhere) {
  LayerFolders disk;
  disk.write("base/old/file", "");
  disk.write("base/x/b/hidden", "");
  disk.folder("middle/x/b");
  disk.mark("middle/x", "opaque", "y");
  disk.mark("middle/x/b", "redirect", "/old");
  disk.folder("top/z");
  disk.mark("top/z", "redirect", "/x/b");
  const OverlayView view = disk.view({"top", "middle", "base"});
  EXPECT_THAT(paths_of(view, *view.find("z")), ElementsAre("file"));
}

// The folder on the way was renamed: what stands behind it in the path is looked for in its old place.
TEST(OverlayView, KeepsTheRestOfThePathWhereAFolderOnTheWayWasRenamedFromElsewhere) {
  LayerFolders disk;
  disk.write("base/p/old/c/low", "");
  disk.write("base/x/c/hidden", "");
  disk.folder("middle/x/c");
  disk.mark("middle/x", "redirect", "/p/old");
  disk.folder("top/z");
  disk.mark("top/z", "redirect", "/x/c");
  const OverlayView view = disk.view({"top", "middle", "base"});
  EXPECT_THAT(paths_of(view, *view.find("z")), ElementsAre("low"));
}

TEST(OverlayView, RefusesARedirectOutOfTheLayer) {
  for (const std::string target : {"..", ".", "a/b", "/a/../b", "/", "//a", "/a/", ""}) {
    LayerFolders disk;
    disk.folder("base/a");
    disk.folder("top/new");
    disk.mark("top/new", "redirect", target);
    const auto found = disk.view({"top", "base"}).find("new");
    ASSERT_FALSE(found) << target;
    EXPECT_EQ(found.error().code, "bad_layer") << target;
    EXPECT_EQ(found.error().boundary, Boundary::sandbox);
  }
}

TEST(OverlayView, SortsByBytesAndTakesAnyName) {
  LayerFolders disk;
  for (const std::string name : {"b", "a\nb", "a b", "\xff\xfe", "\xc3\xa9", "A", ".wh.x"})
    disk.write("base/" + name, "");
  EXPECT_THAT(paths_of(disk.view({"base"})),
              ElementsAre(".wh.x", "A", "a\nb", "a b", "b", "\xc3\xa9", "\xff\xfe"));
}

TEST(OverlayView, FindsByPath) {
  LayerFolders disk;
  disk.write("base/a/b", "");
  const OverlayView view = disk.view({"base"});
  EXPECT_EQ(view.find("")->type, 'd');
  EXPECT_EQ(view.find("/a//b")->source, disk.path("base/a/b"));
  for (const std::string path : {"a/c", "a/b/c", "..", "a/../a/b", "./a"}) {
    const auto found = view.find(path);
    ASSERT_FALSE(found) << path;
    EXPECT_EQ(found.error().code, "no_such_file") << path;
    EXPECT_EQ(found.error().fault, Fault::input) << path;
  }
}

TEST(OverlayView, FailsWhenALayerIsNotThere) {
  LayerFolders disk;
  disk.write("base/a", "");
  const OverlayView view = disk.view({"base", "nowhere"});
  EXPECT_EQ(view.root().error().code, "layer_unreadable");
  EXPECT_EQ(view.find("a").error().code, "bad_layer");
}

TEST(OverlayView, KnowsSameFoldersByTheirSourcesAndTheLayersBeneath) {
  LayerFolders disk;
  disk.write("base/a/file", "");
  disk.folder("base2");
  disk.write("top/b/file", "");
  disk.folder("upper");
  const OverlayView before = disk.view({"top", "base"});
  const OverlayView now = disk.view({"upper", "top", "base"});
  EXPECT_TRUE(before.same_folder(*before.find("a"), now, *now.find("a")));
  EXPECT_TRUE(before.same_folder(*before.find("b"), now, *now.find("b")));
  EXPECT_FALSE(before.same_folder(*before.find(""), now, *now.find("")));
  EXPECT_FALSE(before.same_folder(*before.find("a"), now, *now.find("b")));
  const OverlayView other = disk.view({"top", "base2"});
  EXPECT_FALSE(before.same_folder(*before.find("b"), other, *other.find("b")));
}

}  // namespace
}  // namespace forkpoint::sandbox
