// What the kernel makes of unpacked layers: the marks are for it, so it is the judge of them.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "core/temp_dir.h"
#include "core/unique_fd.h"
#include "sandbox/image.h"
#include "sandbox/overlay_marks.h"
#include "tests/sandbox/image_builder.h"

namespace forkpoint::tests {
namespace {

namespace fs = std::filesystem;
using sandbox::OverlayXattrs;

class ImageOverlayTest : public testing::TestWithParam<OverlayXattrs> {
 protected:
  bool is_trusted() const { return GetParam() == OverlayXattrs::trusted; }

  // Runs `script` in a mount namespace where "$M" shows the layers; its exit code, -1 where that was not
  // possible.
  int run_in_overlay(const std::vector<fs::path>& layers, const std::string& script) const {
    std::string lower;
    for (const fs::path& layer : layers) lower += (lower.empty() ? "" : ":") + layer.native();
    const fs::path mount_point = temp_.path() / "mount";
    fs::create_directories(mount_point);
    write(temp_.path() / "script",
          fmt::format("M={}\nmount -t overlay overlay -o {}lowerdir={} $M || exit 99\n{}\n",
                      mount_point.native(), is_trusted() ? "" : "userxattr,", lower, script));
    const std::string command =
        fmt::format("unshare {} sh {}", is_trusted() ? "-m" : "-Urm", (temp_.path() / "script").native());
    const int status = std::system(command.c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code == 99 || code == 1 ? -1 : code;
  }

  const core::TempDir temp_ = core::TempDir::create("image_overlay_test").value();
};

// "ok" leaves the script with 0, anything else with a code that says which line was wrong.
constexpr const char* kScript = R"sh(
  [ "$(cat $M/etc/os)" = top ] || exit 10
  [ ! -e $M/etc/gone ] || exit 11
  [ "$(ls $M/emptied)" = new ] || exit 12
  [ "$(ls $M/anew)" = x ] || exit 13
  [ "$(cat $M/etc/kept)" = kept ] || exit 14
  [ "$(ls $M/etc | tr '\n' ' ')" = "kept os " ] || exit 15
  exit 0)sh";

TEST_P(ImageOverlayTest, ShowsWhatTheImageMeans) {
  const std::string base = tar_of({{.path = "etc/os", .text = "base"},
                                   {.path = "etc/gone", .text = "gone"},
                                   {.path = "etc/kept", .text = "kept"},
                                   {.path = "emptied/old"},
                                   {.path = "anew/old"}});
  const std::string top = tar_of({{.path = "etc/os", .text = "top"},
                                  {.path = "etc/.wh.gone"},
                                  {.path = "emptied/.wh..wh..opq"},
                                  {.path = "emptied/new"},
                                  {.path = ".wh.anew"},
                                  {.path = "anew/x"}});
  // Twice the same layer, as images of many steps that change nothing have it.
  const std::string empty = tar_of({});
  write_oci(temp_.path() / "layout", {empty, base, empty, top});
  const auto image = sandbox::open_oci_layout(temp_.path() / "layout",
                                              {.store = temp_.path() / "store", .xattrs = GetParam()});
  if (!image && is_trusted() && ::geteuid() != 0) GTEST_SKIP() << "only root may set trusted.* attributes";
  ASSERT_TRUE(image.has_value()) << image.error().to_line();
  const int code = run_in_overlay(image->layers, kScript);
  if (code < 0) GTEST_SKIP() << "this process may not mount overlayfs";
  EXPECT_EQ(code, 0);
}

TEST_P(ImageOverlayTest, HidesByWhiteoutFiles) {
  const fs::path base = temp_.path() / "base";
  const fs::path top = temp_.path() / "top";
  write(base / "etc/os", "base");
  write(base / "etc/gone", "gone");
  fs::create_directories(top / "etc");
  const core::UniqueFd folder(::open((top / "etc").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Result<void> made = sandbox::make_whiteout_file(folder.get(), "gone", GetParam(), top / "etc");
  if (!made && is_trusted() && ::geteuid() != 0) GTEST_SKIP() << "only root may set trusted.* attributes";
  ASSERT_TRUE(made.has_value()) << made.error().to_line();
  const int code =
      run_in_overlay({top, base}, "[ \"$(ls $M/etc)\" = os ] && [ ! -e $M/etc/gone ] || exit 10; exit 0");
  if (code < 0) GTEST_SKIP() << "this process may not mount overlayfs";
  if (code == 10) {
    // Linux before 6.7 shows the file.
    EXPECT_EQ(std::system("uname -r | awk -F. '{exit !($1 < 6 || $1 == 6 && $2 < 7)}'"), 0);
    GTEST_SKIP() << "this kernel does not know whiteout files";
  }
  EXPECT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Marks, ImageOverlayTest,
                         testing::Values(OverlayXattrs::user, OverlayXattrs::trusted),
                         [](const auto& parameter) {
                           return parameter.param == OverlayXattrs::user ? "user" : "trusted";
                         });

}  // namespace
}  // namespace forkpoint::tests
