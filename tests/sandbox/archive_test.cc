#include "sandbox/archive.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <random>

#include "core/file.h"
#include "core/temp_dir.h"
#include "core/unique_fd.h"
#include "sandbox/overlay_marks.h"
#include "tests/sandbox/image_builder.h"

namespace forkpoint::tests {
namespace {

namespace fs = std::filesystem;
using sandbox::OverlayXattrs;
using sandbox::TarReader;

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    empty_root();
    write(outside_ / "secret", "untouched");
  }

  void empty_root() const {
    ASSERT_TRUE(core::remove_tree(root_).has_value());
    fs::create_directory(root_);
  }

  Result<void> unpack_bytes(std::string_view bytes) {
    const core::UniqueFd fd(::memfd_create("layer.tar", MFD_CLOEXEC));
    FORKPOINT_RETURN_IF_ERROR(core::write_all(fd.get(), bytes, "layer.tar"));
    ::lseek(fd.get(), 0, SEEK_SET);
    FORKPOINT_ASSIGN_OR_RETURN(TarReader reader, TarReader::open(fd.get(), "layer.tar", {.digest = digest_}));
    sandbox::UnpackBudget budget{.bytes = 1 << 20, .files = 1000};
    FORKPOINT_RETURN_IF_ERROR(sandbox::unpack_tar(reader, root_, rules_, budget));
    FORKPOINT_RETURN_IF_ERROR(reader.finish());
    return {};
  }

  void unpack(const std::vector<Item>& items) {
    const Result<void> result = unpack_bytes(tar_of(items));
    ASSERT_TRUE(result.has_value()) << result.error().to_line();
  }

  void expect_bad(const std::vector<Item>& items, const std::string& words) {
    const Result<void> result = unpack_bytes(tar_of(items));
    ASSERT_FALSE(result.has_value()) << items.back().path;
    EXPECT_EQ(result.error().code, "bad_image");
    EXPECT_NE(result.error().to_line().find(words), std::string::npos) << result.error().to_line();
    expect_outside_untouched();
  }

  void expect_outside_untouched() const {
    EXPECT_EQ(read(outside_ / "secret"), "untouched");
    EXPECT_EQ(std::distance(fs::directory_iterator(outside_), fs::directory_iterator()), 1);
    EXPECT_FALSE(fs::exists("/forkpoint-archive-test"));
  }

  struct stat status_of(const std::string& path) const {
    struct stat status {};
    EXPECT_EQ(::lstat((root_ / path).c_str(), &status), 0) << path;
    return status;
  }

  std::string xattr_of(const std::string& path, const char* name) const {
    char value[16];
    const ssize_t count = ::lgetxattr((root_ / path).c_str(), name, value, sizeof value);
    return count < 0 ? "" : std::string(value, static_cast<std::size_t>(count));
  }

  bool is_whiteout(const std::string& path) const {
    const struct stat status = status_of(path);
    return (S_ISCHR(status.st_mode) && status.st_rdev == 0) || xattr_of(path, "user.overlay.whiteout") == "y";
  }

  const core::TempDir temp_ = core::TempDir::create("archive_test").value();
  const fs::path root_ = temp_.path() / "root";
  const fs::path outside_ = temp_.path() / "outside";
  sandbox::UnpackRules rules_;
  sandbox::TarDigest digest_ = sandbox::TarDigest::none;
};

TEST_F(ArchiveTest, KeepsModesTimesAndLinks) {
  unpack({{.path = "bin", .type = 'd', .mode = 0555},
          {.path = "bin/su", .text = "su", .mode = 04755},
          {.path = "bin/also", .type = 'h', .text = "bin/su"},
          {.path = "bin/soft", .type = 'l', .text = "/anywhere/at/all"},
          {.path = "tmp", .type = 'd', .mode = 01777},
          {.path = "pipe", .type = 'p', .mode = 0600},
          {.path = "empty"}});
  EXPECT_EQ(status_of("bin").st_mode, S_IFDIR | 0555U);
  EXPECT_EQ(status_of("bin").st_mtime, 1'000'000'000) << "set after the entries, which change it";
  EXPECT_EQ(status_of("bin/su").st_mode, S_IFREG | 04755U);
  EXPECT_EQ(status_of("bin/su").st_mtime, 1'000'000'000);
  EXPECT_EQ(status_of("bin/su").st_ino, status_of("bin/also").st_ino);
  EXPECT_EQ(fs::read_symlink(root_ / "bin/soft"), "/anywhere/at/all");
  EXPECT_EQ(status_of("bin/soft").st_mtime, 1'000'000'000);
  EXPECT_EQ(status_of("tmp").st_mode, S_IFDIR | 01777U);
  EXPECT_EQ(status_of("pipe").st_mode, S_IFIFO | 0600U);
  EXPECT_EQ(status_of("").st_mode, S_IFDIR | 0755U) << "the root, where no entry says otherwise";
  EXPECT_EQ(status_of("empty").st_size, 0);
}

TEST_F(ArchiveTest, MakesTheFoldersThatNoEntryNames) {
  unpack({{.path = "a/b/c", .text = "c"}});
  EXPECT_EQ(status_of("a/b").st_mode, S_IFDIR | 0755U);
  EXPECT_EQ(read(root_ / "a/b/c"), "c");
}

TEST_F(ArchiveTest, KeepsNamesThatAreNotAscii_WhateverTheLocale) {
  const std::string name = "Főtanúsítvány-\u65e5\u672c.pem";
  unpack({{.path = name, .text = "1"}, {.path = std::string(150, 'n') + name, .text = "2"}});
  EXPECT_EQ(read(root_ / name), "1");
  EXPECT_EQ(read(root_ / (std::string(150, 'n') + name)), "2");
}

TEST_F(ArchiveTest, PassesOverDevicesAndXattrs) {
  unpack({{.path = "dev/null", .type = 'c'},
          {.path = "d",
           .type = 'd',
           .xattrs = {{"user.overlay.opaque", "y"}, {"trusted.overlay.redirect", "/etc"}}}});
  EXPECT_FALSE(fs::exists(root_ / "dev"));
  EXPECT_EQ(xattr_of("d", "user.overlay.opaque"), "") << "a forged mark";
  EXPECT_EQ(xattr_of("d", "trusted.overlay.redirect"), "");
}

TEST_F(ArchiveTest, MovesOwners_WhenABaseIsGiven) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  rules_.uid_base = 100'000;
  unpack({{.path = "d", .type = 'd', .uid = 7},
          {.path = "d/f", .text = "f", .mode = 06755, .uid = 42},
          {.path = "d/l", .type = 'l', .text = "f", .uid = 43},
          {.path = "implied/p", .type = 'p', .uid = 44}});
  EXPECT_EQ(status_of("").st_uid, 100'000U);
  EXPECT_EQ(status_of("d").st_uid, 100'007U);
  EXPECT_EQ(status_of("d/f").st_uid, 100'042U);
  EXPECT_EQ(status_of("d/f").st_gid, 100'042U);
  EXPECT_EQ(status_of("d/f").st_mode, S_IFREG | 06755U) << "chown takes these bits away";
  EXPECT_EQ(status_of("d/l").st_uid, 100'043U);
  EXPECT_EQ(status_of("implied").st_uid, 100'000U);
  EXPECT_EQ(status_of("implied/p").st_uid, 100'044U);
  expect_bad({{.path = "x", .uid = 4'294'867'295}}, "out of range");
}

TEST_F(ArchiveTest, StaysWithin_WhenNamesLeadOut) {
  expect_bad({{.path = "../outside/secret", .text = "!"}}, "leaves the image");
  expect_bad({{.path = "a/../../outside/secret", .text = "!"}}, "leaves the image");
  expect_bad({{.path = "..", .type = 'd'}}, "leaves the image");
  expect_bad({{.path = "a/.."}}, "leaves the image");
  expect_bad({{.path = "../outside/.wh.secret"}}, "leaves the image");
  expect_bad({{.path = "../outside/.wh..wh..opq"}}, "leaves the image");
  expect_bad({{.path = "link", .type = 'h', .text = "../outside/secret"}}, "leaves the image");
  expect_bad({{.path = "./", .type = 'l', .text = "../outside"}}, "root is not a folder");
  for (const char* name : {".wh.", ".wh..", ".wh...", "a/.wh..."}) expect_bad({{.path = name}}, "whiteout");
  // Absolute names are taken from the root.
  unpack({{.path = "/forkpoint-archive-test", .text = "within"}, {.path = "//x//./y", .text = "y"}});
  EXPECT_EQ(read(root_ / "forkpoint-archive-test"), "within");
  EXPECT_EQ(read(root_ / "x/y"), "y");
  expect_outside_untouched();
}

TEST_F(ArchiveTest, StaysWithin_WhenLinksLeadOut) {
  const std::string absolute = outside_;
  for (const std::string& target : {absolute, std::string("../outside"), std::string("/")}) {
    const Item link{.path = "way", .type = 'l', .text = target};
    expect_bad({link, {.path = "way/secret", .text = "!"}}, "leaves the image");
    expect_bad({link, {.path = "way/new/deep", .text = "!"}}, "leaves the image");
    expect_bad({link, {.path = "way/folder", .type = 'd'}}, "leaves the image");
    expect_bad({link, {.path = "way/soft", .type = 'l', .text = "x"}}, "leaves the image");
    expect_bad({link, {.path = "way/pipe", .type = 'p'}}, "leaves the image");
    expect_bad({link, {.path = "hard", .type = 'h', .text = "way/secret"}}, "leaves the image");
    expect_bad({link, {.path = "f"}, {.path = "way/hard", .type = 'h', .text = "f"}}, "leaves the image");
    expect_bad({link, {.path = "way/.wh.secret"}}, "leaves the image");
    expect_bad({link, {.path = "way/.wh..wh..opq"}}, "leaves the image");
    // A link by way of another.
    expect_bad({link, {.path = "two", .type = 'l', .text = "way"}, {.path = "two/secret", .text = "!"}},
               "leaves the image");
    empty_root();
  }
}

TEST_F(ArchiveTest, ReplacesALink_RatherThanWriteThroughIt) {
  for (const char type : {'f', 'd', 'p'}) {
    unpack({{.path = "link", .type = 'l', .text = outside_ / "secret"},
            {.path = "link", .type = type, .text = "mine", .mode = 0600}});
    EXPECT_FALSE(S_ISLNK(status_of("link").st_mode));
    expect_outside_untouched();
  }
  // A hard link to a link is the link.
  unpack({{.path = "link", .type = 'l', .text = outside_ / "secret"},
          {.path = "hard", .type = 'h', .text = "link"},
          {.path = "hard", .text = "mine"}});
  EXPECT_EQ(read(root_ / "hard"), "mine");
  expect_outside_untouched();
}

TEST_F(ArchiveTest, DoesNotGiveAFoldersModeToWhatALinkLeadsTo) {
  const auto before = fs::status(outside_).permissions();
  unpack({{.path = "d", .type = 'd', .mode = 0777}, {.path = "d", .type = 'l', .text = outside_}});
  EXPECT_EQ(fs::status(outside_).permissions(), before);
}

TEST_F(ArchiveTest, FollowsALinkWithin_AsTarDoes) {
  unpack({{.path = "usr/lib", .type = 'd'},
          {.path = "lib", .type = 'l', .text = "usr/lib"},
          {.path = "lib/libc.so", .text = "libc"},
          {.path = "lib/.wh.old"}});
  EXPECT_EQ(read(root_ / "usr/lib/libc.so"), "libc");
  EXPECT_TRUE(fs::is_symlink(root_ / "lib"));
  EXPECT_TRUE(is_whiteout("usr/lib/old"));
}

TEST_F(ArchiveTest, ReplacesWhatIsInTheWay) {
  unpack({{.path = "a", .text = "a file"},
          {.path = "a/b", .text = "now below a folder"},
          {.path = "dead", .type = 'l', .text = "nowhere"},
          {.path = "dead/f", .text = "f"},
          {.path = "loop", .type = 'l', .text = "loop"},
          {.path = "loop/f", .text = "f"},
          {.path = "tree/x/y", .text = "y"},
          {.path = "tree", .text = "now a file"},
          {.path = "twice", .text = "a longer text"},
          {.path = "twice", .text = "short"}});
  EXPECT_EQ(read(root_ / "a/b"), "now below a folder");
  EXPECT_EQ(read(root_ / "dead/f"), "f");
  EXPECT_EQ(read(root_ / "loop/f"), "f");
  EXPECT_EQ(read(root_ / "tree"), "now a file");
  EXPECT_EQ(read(root_ / "twice"), "short");
}

TEST_F(ArchiveTest, KeepsAHardLinkToItself) {
  unpack({{.path = "f", .text = "f"}, {.path = "./f", .type = 'h', .text = "f"}});
  EXPECT_EQ(read(root_ / "f"), "f");
  expect_bad({{.path = "h", .type = 'h', .text = "nothing"}}, "hard link");
  expect_bad({{.path = "d", .type = 'd'}, {.path = "h", .type = 'h', .text = "d"}}, "hard link");
  expect_bad({{.path = "t/f"}, {.path = "t", .type = 'h', .text = "t/f"}}, "hard link");
}

TEST_F(ArchiveTest, TurnsDeletionsIntoMarks) {
  unpack({{.path = "gone/.wh.file"},
          {.path = ".wh.top"},
          {.path = "emptied", .type = 'd'},
          {.path = "emptied/.wh..wh..opq"},
          {.path = "emptied/new", .text = "n"}});
  EXPECT_TRUE(is_whiteout("gone/file"));
  EXPECT_TRUE(is_whiteout("top"));
  EXPECT_EQ(xattr_of("emptied", "user.overlay.opaque"), "y");
  EXPECT_EQ(read(root_ / "emptied/new"), "n");
  EXPECT_FALSE(fs::exists(root_ / "emptied/.wh..wh..opq"));
}

TEST_F(ArchiveTest, AppliesDeletionsToLayersBelowOnly_WhateverTheOrder) {
  unpack({{.path = "a/file", .text = "kept"},
          {.path = "a/.wh.file"},  // after
          {.path = "b/.wh.file"},
          {.path = "b/file", .text = "kept"},  // before
          {.path = "c/sub/x", .text = "kept"},
          {.path = "c/.wh.sub"},  // a folder made anew
          {.path = "d/.wh.x"},
          {.path = "d/.wh..wh..opq"},
          {.path = "d/y"},  // nothing below to hide
          {.path = ".wh..wh.plnk/1"},
          {.path = "e/.wh..wh.aufs"}});  // aufs's own
  EXPECT_EQ(read(root_ / "a/file"), "kept");
  EXPECT_EQ(read(root_ / "b/file"), "kept");
  EXPECT_EQ(read(root_ / "c/sub/x"), "kept");
  EXPECT_EQ(xattr_of("c/sub", "user.overlay.opaque"), "y");
  EXPECT_FALSE(fs::exists(fs::symlink_status(root_ / "d/x")));
  EXPECT_EQ(xattr_of("d", "user.overlay.opaque"), "y");
  EXPECT_FALSE(fs::exists(root_ / "e"));
  EXPECT_FALSE(fs::exists(root_ / ".wh..wh.plnk"));
}

TEST_F(ArchiveTest, UsesTrustedMarks_WhenAsked) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may set trusted.* attributes";
  rules_.xattrs = OverlayXattrs::trusted;
  unpack({{.path = "d/.wh..wh..opq"}, {.path = "e/.wh.x"}});
  EXPECT_EQ(xattr_of("d", "trusted.overlay.opaque"), "y");
  EXPECT_EQ(xattr_of("d", "user.overlay.opaque"), "");
  EXPECT_TRUE(S_ISCHR(status_of("e/x").st_mode));
  EXPECT_TRUE(sandbox::is_marked_opaque(root_ / "d", OverlayXattrs::trusted));
  EXPECT_FALSE(sandbox::is_marked_opaque(root_ / "e", OverlayXattrs::trusted));
}

TEST_F(ArchiveTest, MakesWhiteoutFiles_WhereDevicesAreForbidden) {
  fs::create_directory(root_ / "d");
  const core::UniqueFd folder(::open((root_ / "d").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(sandbox::make_whiteout_file(folder.get(), "x", OverlayXattrs::user, root_ / "d").has_value());
  EXPECT_TRUE(is_whiteout("d/x"));
  EXPECT_EQ(status_of("d/x").st_size, 0);
  EXPECT_EQ(xattr_of("d", "user.overlay.opaque"), "x");
  EXPECT_FALSE(sandbox::is_marked_opaque(root_ / "d", OverlayXattrs::user));
}

// Archives of few names and many kinds of entries, so that they meet: whatever they do, they do it within.
TEST_F(ArchiveTest, StaysWithin_WhateverTheEntries) {
  std::mt19937 random(20'240'601);
  const auto pick = [&random](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  const std::vector<std::string> parts = {"a", "b", "c", "..", ".", "", ".wh.a", ".wh..wh..opq", ".wh..."};
  const std::vector<std::string> targets = {"a",
                                            "b",
                                            "a/b",
                                            "..",
                                            "../outside",
                                            "../..",
                                            "/",
                                            outside_,
                                            "b/../..",
                                            "../outside/secret",
                                            outside_ / "secret",
                                            "c"};
  int unpacked = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Item> items;
    for (int i = 0; i < 12; ++i) {
      // ".." seldom: it ends the archive.
      std::string path = pick({"a", "b", "c"});
      for (auto depth = random() % 3; depth > 0; --depth) {
        path += "/" + (random() % 8 == 0 ? pick(parts) : pick({"a", "b", "c", "secret"}));
      }
      const char type = "fdlhp"[random() % 5];
      items.push_back(
          {.path = path, .type = type, .text = random() % 2 == 0 ? pick(targets) : "a", .mode = 0700});
    }
    const Result<void> result = unpack_bytes(tar_of(items));
    unpacked += result.has_value() ? 1 : 0;
    if (!result) {
      EXPECT_EQ(result.error().code, "bad_image") << result.error().to_line();
    }
    expect_outside_untouched();
    empty_root();
  }
  EXPECT_GT(unpacked, 10);
}

TEST_F(ArchiveTest, SurvivesDamage) {
  std::mt19937 random(7);
  for (const Compression compression :
       {Compression::none, Compression::gzip, Compression::zstd, Compression::xz}) {
    const std::string whole = tar_of({{.path = "a/b", .text = std::string(2000, 'x')},
                                      {.path = std::string(200, 'n'), .text = "y"},
                                      {.path = "l", .type = 'l', .text = "a"}},
                                     compression);
    for (int round = 0; round < 150; ++round) {
      std::string bytes = whole;
      for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
      digest_ = static_cast<sandbox::TarDigest>(round % 3);
      const Result<void> result = unpack_bytes(bytes);
      if (!result) {
        EXPECT_EQ(result.error().boundary, Boundary::sandbox) << result.error().to_line();
      }
      empty_root();
    }
  }
  expect_outside_untouched();
}

}  // namespace
}  // namespace forkpoint::tests
