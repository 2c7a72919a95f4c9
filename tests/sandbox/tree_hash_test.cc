#include "sandbox/tree_hash.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "core/file.h"
#include "tests/sandbox/layer_folders.h"

namespace forkpoint::sandbox {
namespace {

using core::Hash128;
using tests::LayerFolders;

Hash128 hash_of(const OverlayView& view, const TreeHashRequest& request = {}) {
  const auto hash = tree_hash(view, request);
  EXPECT_TRUE(hash.has_value()) << (hash ? "" : hash.error().to_line());
  return hash ? *hash : Hash128{};
}

std::string big_endian(std::uint64_t number) {
  std::string bytes(8, '\0');
  for (std::size_t i = 8; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number & 0xFFU);
  return bytes;
}

std::string big_endian(const Hash128& hash) { return big_endian(hash.high) + big_endian(hash.low); }

TEST(TreeHash, IsOfTheSerializationInTheHeader) {
  LayerFolders disk;
  disk.write("base/folder/file", "content", 04751);
  disk.link("base/link", "target");
  ASSERT_EQ(::mkfifo(disk.path("base/pipe").c_str(), 0600), 0);
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
  const Hash128 folder = core::xxh3_128("file\0f4751"s + big_endian(core::xxh3_128("content")));
  EXPECT_EQ(hash_of(disk.view({"base"})),
            core::xxh3_128("folder\0d0755"s + big_endian(folder) + "link\0l0777target\0pipe\0p0600"s));
}

TEST(TreeHash, IsTheSameWhateverLayersTheTreeIsSpreadOver) {
  LayerFolders disk;
  disk.write("one/d/a", "1");
  disk.write("one/d/b", "2");
  disk.write("one/e/c", "3");

  disk.write("base/d/a", "1");
  disk.write("base/d/gone", "");
  disk.write("base/old/c", "3");
  disk.write("up/d/b", "2");
  disk.whiteout("up/d/gone");
  disk.whiteout("up/old");
  disk.folder("up/e");
  disk.mark("up/e", "redirect", "old");
  EXPECT_EQ(hash_of(disk.view({"up", "base"})), hash_of(disk.view({"one"})));
}

TEST(TreeHash, DiffersInNamesTypesModesTargetsAndContents) {
  std::vector<Hash128> hashes;
  for (int variant = 0; variant < 8; ++variant) {
    LayerFolders disk;
    disk.write(variant == 1 ? "base/d/b" : "base/d/a", variant == 2 ? "y" : "x", variant == 3 ? 0600 : 0644);
    disk.link("base/l", variant == 4 ? "to" : "from");
    disk.folder("base/e", variant == 5 ? 0700 : 0755);
    if (variant == 6) disk.write("base/f", "");
    if (variant == 7) disk.folder("base/f");
    hashes.push_back(hash_of(disk.view({"base"})));
  }
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(hashes[i], hashes[j]) << i << " " << j;
  }
}

TEST(TreeHash, IgnoresTimesAndTheRootsOwnMode) {
  LayerFolders disk;
  disk.write("base/d/a", "x");
  const Hash128 before = hash_of(disk.view({"base"}));
  std::filesystem::last_write_time(disk.path("base/d/a"), std::filesystem::file_time_type{});
  ASSERT_EQ(::chmod(disk.path("base").c_str(), 0700), 0);
  EXPECT_EQ(hash_of(disk.view({"base"})), before);
}

TEST(TreeHash, HashesTheFolderBelow) {
  LayerFolders disk;
  disk.write("base/workspace/a", "x");
  disk.write("base/elsewhere", "");
  disk.write("one/a", "x");
  EXPECT_EQ(hash_of(disk.view({"base"}), {.below = "workspace"}), hash_of(disk.view({"one"})));
  EXPECT_EQ(tree_hash(disk.view({"base"}), {.below = "nowhere"}).error().code, "no_such_file");
  EXPECT_EQ(tree_hash(disk.view({"base"}), {.below = "elsewhere"}).error().code, "not_a_folder");
}

TEST(TreeHash, LeavesOutWhatMatches) {
  LayerFolders disk;
  disk.write("one/a.py", "x");
  disk.write("one/sub/.git/config", "x");
  disk.write("one/sub/deep/b.pycx", "x");

  disk.write("all/a.py", "x");
  disk.write("all/sub/.git/config", "x");
  disk.write("all/sub/deep/b.pycx", "x");
  disk.write("all/a.pyc", "");
  disk.write("all/sub/deep/.pyc", "");
  disk.write("all/sub/.git/index", "");
  disk.write("all/__pycache__/kept.txt", "");
  const TreeHashRequest request{.leave_out = {"*.pyc", "*/.git/index", "__py*he__", "x*y"}};
  EXPECT_EQ(hash_of(disk.view({"all"}), request), hash_of(disk.view({"one"})));
}

// "*" does not reach over a slash, and a pattern with a slash is held against the whole path.
TEST(TreeHash, LeavesOutNothingWhereNothingMatches) {
  LayerFolders disk;
  disk.write("base/sub/.git/index", "");
  const Hash128 everything = hash_of(disk.view({"base"}));
  TreeHashRequest request;
  for (const std::string pattern : {"*/index", ".git/index", "sub*index", "sub/.git/inde", "s", "ub", ""}) {
    request.leave_out = {pattern};
    EXPECT_EQ(hash_of(disk.view({"base"}), request), everything) << pattern;
  }
  request.leave_out = {"s*b"};
  EXPECT_NE(hash_of(disk.view({"base"}), request), everything);
}

TEST(TreeHash, FailsWhereAFileCantBeRead) {
  LayerFolders disk;
  disk.write("base/a", "");
  const OverlayView view = disk.view({"nowhere", "base"});
  EXPECT_FALSE(tree_hash(view, {}));
}

// Changes a file's content and nothing else that shows, but for the time of change, which nobody can set.
void forge(const std::filesystem::path& path, std::string_view content) {
  struct stat before {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  struct stat now = before;
  // Again until the kernel's clock, which may be coarse, has moved on.
  while (now.st_ctim.tv_sec == before.st_ctim.tv_sec && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec) {
    std::ofstream(path, std::ios::in | std::ios::binary) << content;
    const std::array<struct timespec, 2> times = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
    ASSERT_EQ(::stat(path.c_str(), &now), 0);
  }
}

class TreeHashCache : public ::testing::Test {
 protected:
  Hash128 hash() const { return hash_of(disk_.view({"up", "base"}), {.cache_folder = disk_.path("cache")}); }
  Hash128 hash_without() const { return hash_of(disk_.view({"up", "base"})); }
  // The cache's only file.
  std::filesystem::path cache_file() const {
    std::filesystem::directory_iterator files(disk_.path("cache"));
    EXPECT_NE(files, std::filesystem::directory_iterator());
    const std::filesystem::path file = files->path();
    EXPECT_EQ(++files, std::filesystem::directory_iterator())
        << "more than one file: the mutable layer has one too";
    return file;
  }
  // Puts another hash in the place of every one that is remembered.
  void poison() const {
    std::string bytes = *core::read_file(cache_file());
    constexpr std::size_t kStart = 21;  // behind the magic
    for (std::size_t end = bytes.size(); end >= kStart + 8 + 8 + 48; end -= 48) {
      bytes[end - 1] = static_cast<char>(~bytes[end - 1]);
      if (end - 48 <= kStart + 16 + disk_.path("base").native().size()) break;
    }
    const std::uint64_t checksum = core::xxh3_64(std::string_view(bytes).substr(kStart + 8));
    bytes.replace(kStart, 8, reinterpret_cast<const char*>(&checksum), 8);
    ASSERT_TRUE(core::write_file(cache_file(), bytes));
  }

  void SetUp() override {
    disk_.write("base/d/a", "one");
    disk_.write("base/b", "two");
    disk_.write("up/c", "three");
  }
  LayerFolders disk_;
};

TEST_F(TreeHashCache, GivesTheSameHashAndIsUsed) {
  EXPECT_EQ(hash(), hash_without());
  EXPECT_EQ(hash(), hash_without());
  poison();
  EXPECT_NE(hash(), hash_without());  // the poison shows that the file was not read again
}

TEST_F(TreeHashCache, RemembersNothingOfMutableLayers) {
  hash();
  cache_file();
  forge(disk_.path("up/c"), "THREE");
  EXPECT_EQ(hash(), hash_without());
}

TEST_F(TreeHashCache, NoticesAChangeThatKeepsSizeAndModificationTime) {
  const Hash128 before = hash();
  forge(disk_.path("base/b"), "TWO");
  EXPECT_NE(hash(), before);
  EXPECT_EQ(hash(), hash_without());
}

TEST_F(TreeHashCache, IsForgottenWhenDamaged) {
  const Hash128 expected = hash();
  const std::string whole = *core::read_file(cache_file());
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    ASSERT_TRUE(core::write_file(cache_file(), whole.substr(0, size)));
    EXPECT_EQ(hash(), expected) << size;
    std::string flipped = whole;
    flipped[size] = static_cast<char>(~flipped[size]);
    ASSERT_TRUE(core::write_file(cache_file(), flipped));
    EXPECT_EQ(hash(), expected) << size;
  }
}

TEST_F(TreeHashCache, CostsNoHashWhenItCantBeWritten) {
  disk_.write("cache", "a file where the folder should be");
  EXPECT_EQ(hash(), hash_without());
}

}  // namespace
}  // namespace forkpoint::sandbox
