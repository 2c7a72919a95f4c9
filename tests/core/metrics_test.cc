#include "core/metrics.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/file.h"
#include "core/metric_names.h"
#include "core/temp_dir.h"
#include "tests/support/fake_clock.h"

namespace forkpoint::core {
namespace {

namespace fs = std::filesystem;

TEST(MetricNames, KnowsNamesAndFamilies) {
  EXPECT_TRUE(is_known_metric("reward/pass_rate"));
  EXPECT_TRUE(is_known_metric("prefix/ema/6_8"));
  EXPECT_TRUE(is_known_metric("outcome/turn_limit"));
  EXPECT_TRUE(is_known_metric("infra/sandbox_lost"));
  for (const char* name : {"", "reward", "reward/passrate", "outcome/", "outcome/a/b", "outcome/Big",
                           "outcome/*", "prefix/ema/3_8"}) {
    EXPECT_FALSE(is_known_metric(name)) << name;
  }
}

TEST(MetricNames, AreDocumented) {
  const fs::path document = fs::path(FORKPOINT_SOURCE_DIR) / "docs" / "metrics.md";
  if (std::getenv("FORKPOINT_REGENERATE") != nullptr) {
    ASSERT_TRUE(write_file(document, metrics_document()).has_value());
  }
  EXPECT_EQ(read_file(document).value(), metrics_document());
}

class MetricsTest : public testing::Test {
 protected:
  MetricsWriter open(std::optional<std::int64_t> resume_step = std::nullopt) const {
    return MetricsWriter::open(run_, {}, clock_, resume_step).value();
  }
  std::string lines() const { return read_file(run_ / "metrics.jsonl").value(); }
  std::size_t event_files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(run_)) {
      if (entry.path().filename().string().starts_with("events.out.tfevents.")) ++count;
    }
    return count;
  }

  const TempDir directory_ = TempDir::create("metrics").value();
  const fs::path run_ = directory_.path() / "runs" / "first";
  tests::FakeClock clock_{1'796'120'130};
};

TEST_F(MetricsTest, WritesOneLineAStep) {
  MetricsWriter metrics = open();
  ASSERT_TRUE(metrics.record(1, {{"reward/pass_rate", 0.25}, {"actor/lr", 1e-4}}).has_value());
  clock_.advance(std::chrono::milliseconds(500));
  ASSERT_TRUE(metrics.record(2, {{"actor/loss", std::nan("")}, {"infra/oom", HUGE_VAL}}).has_value());
  EXPECT_EQ(lines(),
            "{\"step\":1,\"time\":1796120130.0,\"reward/pass_rate\":0.25,\"actor/lr\":0.0001}\n"
            "{\"step\":2,\"time\":1796120130.5,\"actor/loss\":null,\"infra/oom\":null}\n");
  EXPECT_EQ(event_files(), 1u);
}

TEST_F(MetricsTest, WritesNoEvents_WhenTensorBoardIsOff) {
  MetricsWriter metrics = MetricsWriter::open(run_, {.tensorboard = false}, clock_).value();
  ASSERT_TRUE(metrics.record(1, {{"actor/lr", 1}}).has_value());
  EXPECT_EQ(event_files(), 0u);
  EXPECT_NE(lines(), "");
}

TEST_F(MetricsTest, Appends_WhenTheRunWasThereBefore) {
  ASSERT_TRUE(open().record(1, {{"actor/lr", 1}}).has_value());
  ASSERT_TRUE(open().record(2, {{"actor/lr", 2}}).has_value());
  EXPECT_THAT(lines(), testing::MatchesRegex("\\{\"step\":1,[^\n]*\n\\{\"step\":2,[^\n]*\n"));
  EXPECT_EQ(event_files(), 2u);
}

TEST_F(MetricsTest, CutsOffALineThatAKillTore) {
  ASSERT_TRUE(open().record(1, {{"actor/lr", 1}}).has_value());
  const std::string whole = lines();
  std::ofstream(run_ / "metrics.jsonl", std::ios::app) << "{\"step\":2,\"ti";
  MetricsWriter metrics = open();
  EXPECT_EQ(lines(), whole);
  ASSERT_TRUE(metrics.record(2, {{"actor/lr", 2}}).has_value());
  EXPECT_THAT(lines(), testing::StartsWith(whole + "{\"step\":2,"));
}

TEST_F(MetricsTest, WritesNoStepTwice_WhenARunResumes) {
  {
    MetricsWriter metrics = open();
    for (const int step : {1, 2, 3, 4}) ASSERT_TRUE(metrics.record(step, {{"actor/lr", 1}}).has_value());
  }
  MetricsWriter metrics = open(3);
  for (const int step : {3, 4, 5}) ASSERT_TRUE(metrics.record(step, {{"actor/lr", 2}}).has_value());
  EXPECT_THAT(lines(), testing::MatchesRegex("\\{\"step\":1,[^\n]*:1.0\\}\n\\{\"step\":2,[^\n]*:1.0\\}\n"
                                             "\\{\"step\":3,[^\n]*:2.0\\}\n\\{\"step\":4,[^\n]*:2.0\\}\n"
                                             "\\{\"step\":5,[^\n]*:2.0\\}\n"));
}

TEST_F(MetricsTest, LeavesADamagedFileAlone) {
  for (const std::string damage : {"not json\n", "[1]\n", "{\"time\":1}\n"}) {
    ASSERT_TRUE(write_file(run_ / "metrics.jsonl", "{\"step\":1}\n" + damage).has_value());
    const Result<MetricsWriter> opened = MetricsWriter::open(run_, {}, clock_, 1);
    ASSERT_FALSE(opened.has_value());
    EXPECT_THAT(opened.error().message, testing::HasSubstr("metrics.jsonl:2:"));
    EXPECT_EQ(lines(), "{\"step\":1}\n" + damage);
  }
}

TEST_F(MetricsTest, SaysSo_WhenItCantWrite) {
  EXPECT_EQ(MetricsWriter::open("/proc/run", {}, clock_).error().code, "file_unwritable");
  ASSERT_TRUE(fs::create_directories(run_));
  fs::create_symlink("/dev/full", run_ / "metrics.jsonl");
  const Result<MetricsWriter> opened = MetricsWriter::open(run_, {}, clock_);
  ASSERT_FALSE(opened.has_value()) << "a device is no file to continue";
  EXPECT_EQ(opened.error().code, "not_a_file");
}

TEST(WriteAll, SaysSo_WhenTheDiskIsFull) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const Result<void> written = write_all(full.get(), "x", "run/metrics.jsonl");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().to_line(),
            "run/metrics.jsonl: can't be written: No space left on device (make room on the disk)");
}

TEST_F(MetricsTest, StopsTheProgram_WhenAMetricIsUnknown) {
  MetricsWriter metrics = open();
  EXPECT_DEATH((void)metrics.record(1, {{"reward/passrate", 0}}), "does not know: reward/passrate");
}

}  // namespace
}  // namespace forkpoint::core
