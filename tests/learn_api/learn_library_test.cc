#include "learn_api/learn_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "core/rng.h"

namespace forkpoint::learn_api {
namespace {

using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A batch of random logits, and the formula in double precision.
struct Batch {
  Batch(std::int64_t tokens, std::int64_t vocabulary_size, std::uint64_t seed) : vocabulary(vocabulary_size) {
    core::RngStream rng({.seed = seed, .purpose = "test"});
    for (std::int64_t i = 0; i < tokens * vocabulary; ++i)
      logits.push_back(static_cast<float>(5 * rng.normal()));
    for (std::int64_t t = 0; t < tokens; ++t) {
      targets.push_back(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(vocabulary))));
    }
  }

  TokenLogProbsRequest request() const {
    return {.logits = logits, .vocabulary = vocabulary, .targets = targets};
  }

  double expected(std::size_t t, double temperature) const {
    const auto row = static_cast<std::size_t>(vocabulary) * t;
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row);
    const double largest = *std::max_element(first, first + vocabulary);
    double sum = 0;
    for (std::size_t v = 0; v < static_cast<std::size_t>(vocabulary); ++v)
      sum += std::exp((double{logits[row + v]} - largest) / temperature);
    // cppcheck-suppress invalidFunctionArg ; a vocabulary is never empty
    return (double{logits[row + static_cast<std::size_t>(targets[t])]} - largest) / temperature -
           std::log(sum);
  }

  std::int64_t vocabulary;
  std::vector<float> logits;
  std::vector<std::int64_t> targets;
};

class LearnLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!LEARN_LIBRARY_IS_BUILT) GTEST_SKIP() << "this build has no learn library (FORKPOINT_LEARN=OFF)";
    auto opened = LearnLibrary::open(LEARN_LIBRARY);
    ASSERT_TRUE(opened) << opened.failure.message;
    library_ = *opened.value;
  }

  std::vector<float> log_probs(const TokenLogProbsRequest& request) const {
    const auto result = library_->token_log_probs(request);
    EXPECT_TRUE(result) << result.failure.message;
    return result ? *result.value : std::vector<float>();
  }

  std::string failure(const TokenLogProbsRequest& request) const {
    const auto result = library_->token_log_probs(request);
    EXPECT_FALSE(result);
    return result.failure.message;
  }

  // The library's result for the batch is the formula's in double precision.
  void expect_formula(const Batch& batch, double temperature) const {
    TokenLogProbsRequest request = batch.request();
    request.temperature = temperature;
    const std::vector<float> actual = log_probs(request);
    for (std::size_t t = 0; t < actual.size(); ++t) {
      const double expected = batch.expected(t, temperature);
      EXPECT_NEAR(actual[t], expected, 1e-6 * std::max(1.0, std::abs(expected))) << t;
    }
  }

  std::optional<LearnLibrary> library_;
};

TEST_F(LearnLibraryTest, SaysWhatItIs) {
  const auto info = library_->info();
  ASSERT_TRUE(info) << info.failure.message;
  EXPECT_THAT(info.value->torch_version, testing::MatchesRegex("[12]\\.[0-9]+\\.[0-9]+.*"));
  EXPECT_GE(info.value->threads, 1);
  EXPECT_GE(info.value->cuda_devices, 0);
  const auto gflops = library_->measure_sgemm_gflops();
  ASSERT_TRUE(gflops) << gflops.failure.message;
  EXPECT_GT(*gflops.value, 0);
}

TEST_F(LearnLibraryTest, GivesLogProbabilities_AsTheFormulaInDoublePrecision) {
  const Batch batch(50, 257, 1);
  for (const double temperature : {1.0, 0.5, 3.0}) expect_formula(batch, temperature);
}

// A model may put all of a row's logits around any number; that must not cost digits.
TEST_F(LearnLibraryTest, KeepsItsPrecision_WhateverARowsOffset) {
  Batch batch(50, 257, 9);
  for (float& logit : batch.logits) logit += 100;
  for (const double temperature : {0.7, 0.01}) expect_formula(batch, temperature);
}

TEST_F(LearnLibraryTest, PutsAllOnTheLargest_WhenTheTemperatureIsTiny) {
  const std::vector<float> logits = {1, 2};
  const std::vector<std::int64_t> largest = {1};
  TokenLogProbsRequest request = {.logits = logits, .vocabulary = 2, .targets = largest};
  request.temperature = 1e-37;
  EXPECT_EQ(log_probs(request), std::vector<float>{0});
  const std::vector<std::int64_t> other = {0};
  request.targets = other;
  EXPECT_FLOAT_EQ(log_probs(request)[0], -1e37F);
}

TEST_F(LearnLibraryTest, GivesProbabilitiesThatSumToOne) {
  Batch batch(1, 100, 2);
  double sum = 0;
  for (std::int64_t target = 0; target < 100; ++target) {
    batch.targets[0] = target;
    sum += std::exp(log_probs(batch.request())[0]);
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(LearnLibraryTest, GivesEachRowTheSame_WhateverRowsItComesWith) {
  const Batch batch(300, 1000, 3);
  const std::vector<float> together = log_probs(batch.request());
  for (std::size_t t = 0; t < together.size(); ++t) {
    const std::span<const float> logits(batch.logits);
    const std::span<const std::int64_t> targets(batch.targets);
    EXPECT_EQ(
        log_probs(
            {.logits = logits.subspan(1000 * t, 1000), .vocabulary = 1000, .targets = targets.subspan(t, 1)}),
        std::vector<float>{together[t]})
        << t;
  }
}

// More logits than one piece holds: the border between pieces must not show.
TEST_F(LearnLibraryTest, CrossesTheBorderBetweenPieces) {
  constexpr std::int64_t kVocabulary = 151'936;  // Qwen3's; 110 rows fill a piece
  constexpr std::size_t kTokens = 120;
  Batch batch(1, kVocabulary, 4);
  const std::vector<float> row = batch.logits;
  for (std::size_t copy = 1; copy < kTokens; ++copy)
    batch.logits.insert(batch.logits.end(), row.begin(), row.end());
  batch.targets.assign(kTokens, 17);
  const std::vector<float> actual = log_probs(batch.request());
  EXPECT_EQ(actual, std::vector<float>(kTokens, actual[0]));
  EXPECT_NEAR(actual[0], batch.expected(0, 1.0), 1e-4);
}

TEST_F(LearnLibraryTest, TakesForbiddenEntries) {
  const std::vector<float> logits = {0, -kInfinity, 0};
  const std::vector<std::int64_t> allowed = {0};
  const std::vector<std::int64_t> forbidden = {1};
  EXPECT_FLOAT_EQ(log_probs({.logits = logits, .vocabulary = 3, .targets = allowed})[0], std::log(0.5F));
  EXPECT_EQ(log_probs({.logits = logits, .vocabulary = 3, .targets = forbidden})[0], -kInfinity);
}

TEST_F(LearnLibraryTest, GivesNothingForNothing) {
  EXPECT_EQ(log_probs({.logits = {}, .vocabulary = 3, .targets = {}}), std::vector<float>());
}

TEST_F(LearnLibraryTest, NamesTheRow_WhenLogitsAreBroken) {
  for (const float broken : {kNan, kInfinity}) {
    Batch batch(5, 4, 5);
    batch.logits[3 * 4 + 1] = broken;
    EXPECT_EQ(failure(batch.request()), "token_log_probs: row 3 has NaN, +inf or no finite logit");
  }
  const std::vector<float> nothing_allowed(4, -kInfinity);
  const std::vector<std::int64_t> target = {0};
  EXPECT_THAT(failure({.logits = nothing_allowed, .vocabulary = 4, .targets = target}), HasSubstr("row 0"));
}

TEST_F(LearnLibraryTest, NamesTheRow_WhenATargetIsOutOfRange) {
  Batch batch(3, 4, 6);
  batch.targets[2] = 4;
  EXPECT_EQ(failure(batch.request()), "token_log_probs: target 4 in row 2 is not in a vocabulary of 4");
  batch.targets[2] = -1;
  EXPECT_THAT(failure(batch.request()), HasSubstr("target -1 in row 2"));
}

TEST_F(LearnLibraryTest, RefusesATemperatureThatIsNotPositive) {
  const Batch batch(1, 4, 7);
  for (const double temperature : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e-300, 1e300}) {
    TokenLogProbsRequest request = batch.request();
    request.temperature = temperature;
    EXPECT_THAT(failure(request), HasSubstr("temperature must be above 0")) << temperature;
  }
}

TEST_F(LearnLibraryTest, RefusesSizesThatDoNotFit) {
  const Batch batch(3, 4, 8);
  TokenLogProbsRequest request = batch.request();
  for (const std::int64_t vocabulary : {0, -4, 3, 5, 12}) {
    request.vocabulary = vocabulary;
    EXPECT_THAT(failure(request), HasSubstr("12 logits are not 3 rows of")) << vocabulary;
  }
}

TEST_F(LearnLibraryTest, ExplainsInOneLine_WhenThereIsNoSuchDevice) {
  TokenLogProbsRequest request;
  request.vocabulary = 1;
  request.device = "abacus";
  const std::string message = failure(request);
  EXPECT_THAT(message, HasSubstr("abacus"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST_F(LearnLibraryTest, SaysHowManyDevicesThereAre_WhenOneIsNotThere) {
  TokenLogProbsRequest request;
  request.vocabulary = 1;
  const std::string devices = std::to_string(library_->info().value->cuda_devices) + " usable CUDA devices";
  for (const char* device : {"cuda:99", "meta"}) {
    request.device = device;
    EXPECT_EQ(failure(request), "device " + std::string(device) + ": there are the CPU and " + devices);
  }
}

TEST(LearnLibraryOpen, SaysWhatIsWrong_WhenThereIsNoLibrary) {
  const auto missing = LearnLibrary::open("/nonexistent/libforkpoint_learn.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure.code, "library_missing");
  EXPECT_EQ(missing.failure.message, "/nonexistent/libforkpoint_learn.so: no such library");
  EXPECT_NE(missing.failure.advice, "");
}

TEST(LearnLibraryOpen, RefusesAFileThatIsNoLibrary) {
  const std::string path = testing::TempDir() + "no_library.so";
  std::ofstream(path) << "not a library";
  const auto opened = LearnLibrary::open(path);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.failure.code, "library_unusable");
  EXPECT_THAT(opened.failure.message, HasSubstr(path));
}

TEST(LearnLibraryOpen, RefusesALibraryThatIsNotOurs) {
  const auto opened = LearnLibrary::open("/lib/x86_64-linux-gnu/libm.so.6");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.failure.code, "library_mismatch");
}

TEST(LearnLibraryOpen, RefusesAnotherInterface) {
  const auto opened = LearnLibrary::open(WRONG_ABI_LIBRARY);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.failure.code, "library_mismatch");
  EXPECT_THAT(opened.failure.message, HasSubstr("has interface 2, this program needs 1"));
}

}  // namespace
}  // namespace forkpoint::learn_api
