#include "sandbox/image.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <thread>

#include "core/temp_dir.h"
#include "sandbox/image_manifest.h"
#include "tests/sandbox/image_builder.h"

namespace forkpoint::tests {
namespace {

namespace fs = std::filesystem;
using sandbox::Image;
using sandbox::open_archive;
using sandbox::open_oci_layout;

class ImageTest : public testing::Test {
 protected:
  std::vector<std::string> stored() const {
    std::vector<std::string> names;
    if (!fs::exists(options_.store)) return names;
    for (const auto& entry : fs::directory_iterator(options_.store)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  // That the result is this error, and that nothing stays behind.
  void expect_error(const Result<Image>& image, const std::string& code, const std::string& words) {
    ASSERT_FALSE(image.has_value());
    EXPECT_EQ(image.error().code, code) << image.error().to_line();
    EXPECT_EQ(image.error().fault, Fault::input);
    EXPECT_EQ(image.error().boundary, Boundary::sandbox);
    EXPECT_NE(image.error().to_line().find(words), std::string::npos) << image.error().to_line();
    EXPECT_EQ(stored(), std::vector<std::string>());
  }

  // The archive as a file.
  fs::path file(std::string_view bytes) const {
    write(temp_.path() / "archive", bytes);
    return temp_.path() / "archive";
  }

  const core::TempDir temp_ = core::TempDir::create("image_test").value();
  const fs::path layout_ = temp_.path() / "layout";
  sandbox::UnpackOptions options_{.store = temp_.path() / "store"};
};

const std::vector<Item> kBase = {
    {.path = "./", .type = 'd'}, {.path = "./etc/", .type = 'd'}, {.path = "./etc/os", .text = "base\n"}};
const std::vector<Item> kTop = {{.path = "etc", .type = 'd'}, {.path = "etc/os", .text = "top\n"}};

TEST_F(ImageTest, StacksTheLayersOfAnOciLayout_TopFirst) {
  write_oci(layout_, {tar_of(kBase, Compression::gzip), tar_of(kTop, Compression::gzip)});
  const Image image = open_oci_layout(layout_, options_).value();
  ASSERT_EQ(image.layers.size(), 2U);
  EXPECT_EQ(read(image.layers[0] / "etc/os"), "top\n");
  EXPECT_EQ(read(image.layers[1] / "etc/os"), "base\n");
  EXPECT_EQ(image.working_folder, "/work");
  EXPECT_EQ(image.environment.at("PATH"), "/usr/bin:/bin");
  EXPECT_EQ(image.environment.at("EMPTY"), "");
  EXPECT_EQ(image.environment.at("A"), "b=c");
  EXPECT_EQ(stored().size(), 2U);
}

TEST_F(ImageTest, ReadsAnyCompressionOfLayers) {
  for (const Compression compression :
       {Compression::none, Compression::gzip, Compression::zstd, Compression::xz}) {
    write_oci(layout_, {tar_of(kBase, compression)});
    const Result<Image> image = open_oci_layout(layout_, options_);
    ASSERT_TRUE(image.has_value()) << image.error().to_line();
    EXPECT_EQ(read(image->layers[0] / "etc/os"), "base\n");
  }
  EXPECT_EQ(stored().size(), 4U);
}

TEST_F(ImageTest, UnpacksALayerOnce_WhenTwoImagesHaveIt) {
  const std::string base = tar_of(kBase, Compression::gzip);
  write_oci(layout_, {base});
  write_oci(temp_.path() / "other", {base, tar_of(kTop)});
  const Image one = open_oci_layout(layout_, options_).value();
  write(one.layers[0] / "mark", "the same folder");
  const Image two = open_oci_layout(temp_.path() / "other", options_).value();
  EXPECT_EQ(two.layers[1], one.layers[0]);
  EXPECT_TRUE(fs::exists(two.layers[1] / "mark"));
}

TEST_F(ImageTest, NamesALayerOnce_WhenTheImageHasItTwice) {
  const std::string empty = tar_of({});
  write_oci(layout_, {empty, tar_of(kBase), empty, tar_of(kTop)});
  const Image image = open_oci_layout(layout_, options_).value();
  ASSERT_EQ(image.layers.size(), 3U) << "overlayfs refuses a folder that comes twice";
  EXPECT_EQ(read(image.layers[0] / "etc/os"), "top\n");
  EXPECT_TRUE(fs::is_empty(image.layers[1]));
}

TEST_F(ImageTest, KeepsLayersOfDifferentFormsApart) {
  write_oci(layout_, {tar_of(kBase)});
  const Image user = open_oci_layout(layout_, options_).value();
  options_.xattrs = sandbox::OverlayXattrs::trusted;
  EXPECT_NE(open_oci_layout(layout_, options_).value().layers, user.layers);
}

TEST_F(ImageTest, AppearsWhole_WhenManyUnpackAtOnce) {
  std::vector<Item> items;
  for (int i = 0; i < 200; ++i) items.push_back({.path = "d/" + std::to_string(i), .text = "x"});
  write_oci(layout_, {tar_of(items, Compression::gzip)});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      const Result<Image> image = open_oci_layout(layout_, options_);
      ASSERT_TRUE(image.has_value()) << image.error().to_line();
      EXPECT_EQ(std::distance(fs::directory_iterator(image->layers[0] / "d"), fs::directory_iterator()), 200);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored().size(), 1U);
}

TEST_F(ImageTest, ChoosesLinuxAndThisArchitecture_OfSeveralPlatforms) {
  const auto for_platform = [&](const std::string& os, const std::string& architecture,
                                const std::string& text) {
    Json config = config_of({});
    config["os"] = os;
    config["architecture"] = architecture;
    Json descriptor = add_image(layout_, {tar_of({{.path = "os", .text = text}})}, config);
    descriptor["platform"] = {{"os", os}, {"architecture", architecture}};
    return descriptor;
  };
  const std::string ours = sandbox::host_architecture();
  Json attestation = for_platform("unknown", "unknown", "attestation");
  const Json inner = {{"schemaVersion", 2},
                      {"manifests",
                       {for_platform("windows", ours, "windows"), for_platform("linux", "s390x", "other"),
                        for_platform("linux", ours, "ours"), attestation}}};
  // As image tools write it: the layout's index names one index of platforms.
  write_index(layout_,
              Json::array({add_blob(layout_, inner.dump(), "application/vnd.oci.image.index.v1+json")}));
  const Result<Image> image = open_oci_layout(layout_, options_);
  ASSERT_TRUE(image.has_value()) << image.error().to_line();
  EXPECT_EQ(read(image->layers.at(0) / "os"), "ours");
}

TEST_F(ImageTest, SaysWhatThereIs_WhenNoPlatformFits) {
  Json descriptor = add_image(layout_, {tar_of(kBase)}, config_of({}));
  descriptor["platform"] = {{"os", "linux"}, {"architecture", "vax"}};
  write_index(layout_, Json::array({descriptor}));
  expect_error(open_oci_layout(layout_, options_), "bad_image", "linux/vax");
}

TEST_F(ImageTest, IsRefused_WhenTheConfigIsForAnotherPlatform) {
  Json config = config_of({});
  config["architecture"] = "vax";
  write_index(layout_, Json::array({add_image(layout_, {tar_of(kBase)}, config)}));
  expect_error(open_oci_layout(layout_, options_), "bad_image", "for linux/vax");
}

TEST_F(ImageTest, IsRefused_WhenTheLayoutHoldsSeveralImages) {
  write_index(layout_, Json::array({add_image(layout_, {tar_of(kBase)}, config_of({})),
                                    add_image(layout_, {tar_of(kTop)}, config_of({}))}));
  expect_error(open_oci_layout(layout_, options_), "bad_image", "2 images");
}

TEST_F(ImageTest, IsRefused_WhenABlobHasAnotherDigest) {
  const std::string layer = tar_of(kBase);
  const std::string other = tar_of(kTop);
  for (const std::string& path : {digest_of(layer), digest_of(config_of({}).dump())}) {
    write_oci(layout_, {layer});
    // Valid content, but not the one that the digest vouches for.
    write(layout_ / "blobs/sha256" / path.substr(7), path == digest_of(layer) ? other : "{}");
    expect_error(open_oci_layout(layout_, options_), "bad_image", "its SHA-256 is");
  }
}

TEST_F(ImageTest, IsRefused_WhenABlobIsMissing) {
  const std::string layer = tar_of(kBase);
  write_oci(layout_, {layer});
  fs::remove(layout_ / "blobs/sha256" / digest_of(layer).substr(7));
  expect_error(open_oci_layout(layout_, options_), "bad_image", "missing");
}

TEST_F(ImageTest, IsRefused_WhenADigestIsAPath) {
  write_index(layout_, Json::array({{{"digest", "sha256:../../../etc/passwd"}}}));
  expect_error(open_oci_layout(layout_, options_), "bad_image", "not a SHA-256");
}

TEST_F(ImageTest, IsRefused_WhenABlobIsALinkOutOfTheLayout) {
  const std::string layer = tar_of(kBase);
  write_oci(layout_, {layer});
  const fs::path blob = layout_ / "blobs/sha256" / digest_of(layer).substr(7);
  fs::rename(blob, temp_.path() / "outside");
  fs::create_symlink(temp_.path() / "outside", blob);
  expect_error(open_oci_layout(layout_, options_), "bad_image", "leaves the image");
}

TEST_F(ImageTest, IsRefused_WhenADocumentIsOddOrHuge) {
  expect_error(open_oci_layout(temp_.path() / "nowhere", options_), "no_such_image", "nowhere");
  fs::create_directory(layout_);
  expect_error(open_oci_layout(layout_, options_), "bad_image", "index.json");
  for (const char* index : {"", "[]", "{", "null", R"({"manifests":[7]})", R"({"manifests":[]})",
                            R"({"manifests":[{"digest":1}]})"}) {
    write(layout_ / "index.json", index);
    expect_error(open_oci_layout(layout_, options_), "bad_image", "index.json");
  }
  write(layout_ / "index.json", std::string((4U << 20U) + 1, ' '));
  expect_error(open_oci_layout(layout_, options_), "bad_image", "larger");
}

TEST_F(ImageTest, ReadsAnOciArchive) {
  write_oci(layout_, {tar_of(kBase, Compression::gzip), tar_of(kTop, Compression::zstd)});
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    const Result<Image> image = open_archive(file(tar_of(items_of(layout_), compression)), options_);
    ASSERT_TRUE(image.has_value()) << image.error().to_line();
    ASSERT_EQ(image->layers.size(), 2U);
    EXPECT_EQ(read(image->layers[0] / "etc/os"), "top\n");
    EXPECT_EQ(image->working_folder, "/work");
    EXPECT_EQ(stored().size(), 2U) << "no copies of blobs stay; the second time all is there";
  }
}

TEST_F(ImageTest, ReadsADockerArchive) {
  const Result<Image> image =
      open_archive(file(tar_of(docker_items({tar_of(kBase), tar_of(kTop)}))), options_);
  ASSERT_TRUE(image.has_value()) << image.error().to_line();
  ASSERT_EQ(image->layers.size(), 2U);
  EXPECT_EQ(read(image->layers[0] / "etc/os"), "top\n");
  EXPECT_EQ(image->environment.at("PATH"), "/usr/bin:/bin");
  EXPECT_EQ(stored().size(), 2U);
}

TEST_F(ImageTest, FollowsTheLinksOfADockerArchive) {
  // Old versions save a layer that comes twice as a link to the first.
  std::vector<Item> items = docker_items({tar_of(kBase), tar_of(kBase)});
  items[1].type = 'l';
  items[1].text = "../" + items[0].path;
  const Result<Image> image = open_archive(file(tar_of(items)), options_);
  ASSERT_TRUE(image.has_value()) << image.error().to_line();
  EXPECT_EQ(image->layers.size(), 1U);
}

TEST_F(ImageTest, ChecksTheLayersOfADockerArchive_AlsoCompressed) {
  const std::string tar = tar_of(kBase);
  std::vector<Item> items = docker_items({tar});
  items[0].text = tar_of(kTop);
  expect_error(open_archive(file(tar_of(items)), options_), "bad_image", "its SHA-256 is");
  items[0].text = tar_of(kBase, Compression::gzip);
  const Result<Image> image = open_archive(file(tar_of(items)), options_);
  ASSERT_TRUE(image.has_value()) << image.error().to_line();
  EXPECT_EQ(read(image->layers.at(0) / "etc/os"), "base\n");
}

TEST_F(ImageTest, IsRefused_WhenADockerArchiveLacksSomething) {
  const std::vector<Item> items = docker_items({tar_of(kBase)});
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<Item> less = items;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    expect_error(open_archive(file(tar_of(less)), options_), "bad_image", "missing");
  }
}

TEST_F(ImageTest, ReadsAPlainRootFileSystem) {
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zstd}) {
    const Result<Image> image = open_archive(file(tar_of(kBase, compression)), options_);
    ASSERT_TRUE(image.has_value()) << image.error().to_line();
    ASSERT_EQ(image->layers.size(), 1U);
    EXPECT_EQ(read(image->layers[0] / "etc/os"), "base\n");
    EXPECT_TRUE(image->environment.empty());
  }
  EXPECT_EQ(stored().size(), 3U);
}

TEST_F(ImageTest, IsRefused_WhenTheArchiveIsNone) {
  expect_error(open_archive(temp_.path() / "nowhere", options_), "no_such_image", "nowhere");
  expect_error(open_archive(temp_.path(), options_), "no_such_image", "not a file");
  expect_error(open_archive(file(""), options_), "bad_image", "archive");
  expect_error(open_archive(file("no archive at all"), options_), "bad_image", "archive");
}

TEST_F(ImageTest, IsRefused_WhenTheArchiveIsCutOff) {
  std::string noise(40'000, '\0');
  std::mt19937 random(1);
  for (char& byte : noise) byte = static_cast<char>(random());
  const std::vector<Item> items = {{.path = "etc/a", .text = noise}, {.path = "etc/b", .text = noise}};
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zstd}) {
    const std::string whole = tar_of(items, compression);
    expect_error(open_archive(file(whole.substr(0, whole.size() / 3)), options_), "bad_image", "archive");
  }
}

TEST_F(ImageTest, IsRefused_WhenItTakesTooMuch) {
  const std::vector<Item> items = {{.path = "etc/a", .text = std::string(100, 'a')},
                                   {.path = "etc/b", .text = std::string(100, 'b')}};
  options_.bytes_max = 199;
  expect_error(open_archive(file(tar_of(items)), options_), "image_too_large", "etc/b");
  options_.bytes_max = 200;
  options_.files_max = 2;  // and the folder
  expect_error(open_archive(file(tar_of(items)), options_), "image_too_large", "more files");
  options_.files_max = 3;
  EXPECT_TRUE(open_archive(file(tar_of(items)), options_).has_value());
}

TEST_F(ImageTest, IsRefused_WhenAllLayersTogetherTakeTooMuch) {
  options_.bytes_max = 150;
  write_oci(layout_, {tar_of({{.path = "a", .text = std::string(100, 'a')}}),
                      tar_of({{.path = "b", .text = std::string(100, 'b')}})});
  const Result<Image> image = open_oci_layout(layout_, options_);
  ASSERT_FALSE(image.has_value());
  EXPECT_EQ(image.error().code, "image_too_large");
  EXPECT_EQ(stored().size(), 1U) << "the first layer is good and stays";
}

TEST_F(ImageTest, IsRefused_WhenASmallBlobUnpacksWithoutEnd) {
  options_.bytes_max = 1 << 20;
  options_.files_max = 10;
  const std::string bomb =
      tar_of({{.path = "etc/a", .text = std::string(64U << 20U, '\0')}}, Compression::zstd);
  ASSERT_LT(bomb.size(), 100'000U);
  expect_error(open_archive(file(bomb), options_), "image_too_large", "archive");
  write_oci(layout_, {bomb});
  expect_error(open_oci_layout(layout_, options_), "image_too_large", "blobs/sha256");
}

}  // namespace
}  // namespace forkpoint::tests
