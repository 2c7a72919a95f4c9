// The project's own sources against its rules, and the rules against made-up sources that break them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/architecture/rules.h"
#include "tests/architecture/source_tree.h"

namespace forkpoint::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::filesystem::path kRoot = FORKPOINT_SOURCE_DIR;

const std::vector<SourceFile>& project() {
  static const std::vector<SourceFile> files = read_source_tree(kRoot);
  return files;
}

SourceFile source(const std::string& path, const std::string& text) { return parse_source(path, text); }

TEST(Architecture, ReadsTheProject) {
  const auto has = [](const std::string& path) {
    return std::any_of(project().begin(), project().end(),
                       [&](const SourceFile& file) { return file.path == path; });
  };
  EXPECT_TRUE(has("core/rng.h"));
  EXPECT_TRUE(has("env/action_parser.h"));
  EXPECT_TRUE(has("env/parsers/hermes.cc"));
  EXPECT_TRUE(has("cli/main.cc"));
  EXPECT_TRUE(has("tests/architecture/architecture_test.cc"));
}

TEST(Architecture, HasOnlyTheArrowsOfTheChain) { EXPECT_THAT(forbidden_arrows(project()), IsEmpty()); }
TEST(Architecture, KeepsEachLibraryInItsFolder) { EXPECT_THAT(misplaced_libraries(project()), IsEmpty()); }
TEST(Architecture, KeepsThirdPartyTypesOutOfHeaders) { EXPECT_THAT(leaking_headers(project()), IsEmpty()); }
TEST(Architecture, HasNoCircles) { EXPECT_THAT(include_circles(project()), IsEmpty()); }

TEST(Architecture, ExplainsEveryFolder) {
  for (const auto& entry : std::filesystem::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with('.') || name == "build") continue;
    EXPECT_TRUE(std::filesystem::exists(entry.path() / "README.md")) << name << " has no README.md";
  }
}

// Not a failure: a long file is a place to look.
TEST(Architecture, ListsLongFiles) {
  constexpr std::size_t kLinesMax = 400;
  for (const SourceFile& file : project()) {
    if (file.lines > kLinesMax)
      std::printf("over %zu lines: %s (%zu)\n", kLinesMax, file.path.c_str(), file.lines);
  }
}

TEST(ArchitectureRules, RefuseAnArrowUpTheChain) {
  EXPECT_THAT(
      forbidden_arrows({source("core/a.cc", "#include \"sandbox/policy.h\"\n"),
                        source("env/b.cc", "#include \"core/result.h\"\n#include \"replay/store.h\"\n"),
                        source("env/parsers/b.cc", "#include \"env/action.h\"\n#include \"agents/loop.h\"\n"),
                        source("learn_api/c.h", "#include \"core/result.h\"\n"),
                        source("cli/d.cc", "#include \"trainer/loop.h\"\n#include <vector>\n")}),
      ElementsAre("core/a.cc: may not include sandbox/policy.h", "env/b.cc: may not include replay/store.h",
                  "env/parsers/b.cc: may not include agents/loop.h",
                  "learn_api/c.h: may not include core/result.h"));
}

TEST(ArchitectureRules, CloseTheRoomsOfLibTorch) {
  EXPECT_THAT(forbidden_arrows({source("trainer/learn/a.cc",
                                       "#include \"agents/model/torch.h\"\n#include \"core/rng.h\"\n"
                                       "#include \"learn_api/learn_api.h\"\n#include \"core/result.h\"\n"),
                                source("agents/engine/fused/b.cc", "#include \"trainer/learn/loss.h\"\n"),
                                source("agents/loop.cc", "#include \"agents/model/decoder.h\"\n"),
                                source("cli/c.cc", "#include \"trainer/learn/loss.h\"\n")}),
              ElementsAre("trainer/learn/a.cc: may not include core/result.h",
                          "agents/engine/fused/b.cc: may not include trainer/learn/loss.h",
                          "agents/loop.cc: may not include agents/model/decoder.h",
                          "cli/c.cc: may not include trainer/learn/loss.h"));
}

TEST(ArchitectureRules, RefuseAFolderThatIsNotInTheHouse) {
  EXPECT_THAT(forbidden_arrows({source("util/a.cc", "")}),
              ElementsAre("util/a.cc: no such folder in the house: util"));
}

TEST(ArchitectureRules, RefuseALibraryOutsideItsFolder) {
  EXPECT_THAT(misplaced_libraries({source("agents/model/decoder.cc", "#include <torch/types.h>\n"),
                                   source("trainer/group.cc", "#include <sqlite3.h>\n"),
                                   source("env/tool.cc", "#include <sys/mount.h>\n"),
                                   source("cli/serve.cc", "#include <boost/beast/http.hpp>\n"),
                                   source("agents/remote.cc", "#include <curl/curl.h>\n"),
                                   source("core/http_client.cc", "#include <curl/curl.h>\n")}),
              ElementsAre("agents/model/decoder.cc: LibTorch does not belong here: torch/types.h",
                          "trainer/group.cc: SQL does not belong here: sqlite3.h",
                          "env/tool.cc: isolation does not belong here: sys/mount.h",
                          "cli/serve.cc: Beast does not belong here: boost/beast/http.hpp",
                          "agents/remote.cc: libcurl does not belong here: curl/curl.h"));
}

TEST(ArchitectureRules, FindStatementsAndSystemCallsInCodeButNotInComments) {
  EXPECT_THAT(misplaced_libraries({source("env/a.cc", "run(\"SELECT id FROM task\");\n"),
                                   source("env/b.cc", "// SELECT id FROM task\n"),
                                   source("env/c.cc", "if (unshare(CLONE_NEWNS) != 0) return;\n"),
                                   source("replay/d.cc", "run(\"INSERT INTO turn\");\n")}),
              ElementsAre("env/a.cc: SQL does not belong here: SELECT id FROM",
                          "env/c.cc: isolation does not belong here: unshare("));
}

TEST(ArchitectureRules, RefuseThirdPartyTypesInHeaders) {
  EXPECT_THAT(leaking_headers({source("core/a.h", "#include <boost/asio.hpp>\n#include <string>\n"),
                               source("core/a.cc", "#include <boost/asio.hpp>\n"),
                               source("core/asio.h", "#include <boost/asio.hpp>\n")}),
              ElementsAre("core/a.h: a header must not bind its includers to boost/asio.hpp"));
}

TEST(ArchitectureRules, FindACircle) {
  EXPECT_THAT(include_circles({source("core/a.h", "#include \"core/b.h\"\n"),
                               source("core/b.h", "#include \"core/c.h\"\n"),
                               source("core/c.h", "#include \"core/b.h\"\n")}),
              ElementsAre("core/b.h -> core/c.h -> core/b.h"));
}

}  // namespace
}  // namespace forkpoint::tests
