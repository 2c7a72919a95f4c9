#include "core/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

namespace forkpoint::core {
namespace {

constexpr StreamName kDraw{.seed = 7, .purpose = "pair_draw", .step = 12, .group = 3, .candidate = 5};

std::vector<std::uint64_t> take(RngStream stream, int count) {
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(stream.next());
  return numbers;
}

// The published known-answer vectors of the generator (Random123, philox4x64-10).
TEST(Philox4x64, GivesThePublishedVectors) {
  using Block = std::array<std::uint64_t, 4>;
  EXPECT_EQ(philox4x64({0, 0, 0, 0}, {0, 0}),
            (Block{0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b}));
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  EXPECT_EQ(philox4x64({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0}));
  EXPECT_EQ(philox4x64({0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89},
                       {0x452821e638d01377, 0xbe5466cf34e90c6c}),
            (Block{0xa528f45403e61d95, 0x38c72dbd566e9788, 0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6}));
}

TEST(RngStream, RepeatsForTheSameName) {
  EXPECT_EQ(take(RngStream(kDraw), 100), take(RngStream(kDraw), 100));
}

TEST(RngStream, DiffersInEveryPartOfItsName) {
  std::set<std::vector<std::uint64_t>> streams;
  StreamName name = kDraw;
  streams.insert(take(RngStream(name), 4));
  name.seed = 8;
  streams.insert(take(RngStream(name), 4));
  name.purpose = "sampling";
  streams.insert(take(RngStream(name), 4));
  name.step = 13;
  streams.insert(take(RngStream(name), 4));
  name.group = 4;
  streams.insert(take(RngStream(name), 4));
  name.candidate = 6;
  streams.insert(take(RngStream(name), 4));
  EXPECT_EQ(streams.size(), 6u);
}

TEST(RngStream, GoesOnFromAnyPositionItIsSentTo) {
  const std::vector<std::uint64_t> numbers = take(RngStream(kDraw), 11);
  for (std::uint64_t position = 0; position < numbers.size(); ++position) {
    RngStream stream(kDraw);
    stream.next();
    stream.seek(position);
    EXPECT_EQ(stream.position(), position);
    EXPECT_EQ(stream.next(), numbers[position]);
    EXPECT_EQ(stream.position(), position + 1);
  }
}

TEST(RngStream, UniformLiesInTheHalfOpenUnitIntervalWithTheRightMoments) {
  RngStream stream(kDraw);
  constexpr int kCount = 100'000;
  double sum = 0;
  double sum_of_squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double u = stream.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    sum_of_squares += u * u;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(sum_of_squares / kCount, 1.0 / 3, 0.005);
}

TEST(RngStream, BelowIsEvenOverItsRange) {
  RngStream stream(kDraw);
  constexpr std::uint64_t kBound = 7;
  constexpr int kCount = 70'000;
  std::array<int, kBound> seen{};
  for (int i = 0; i < kCount; ++i) ++seen.at(stream.below(kBound));
  double chi_square = 0;
  for (const int count : seen) chi_square += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  EXPECT_LT(chi_square, 22.5);  // 0.999 quantile with 6 degrees of freedom
  EXPECT_EQ(stream.below(1), 0u);
}

TEST(RngStream, BernoulliIsExactAtItsEnds) {
  RngStream stream(kDraw);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(stream.bernoulli(0));
    EXPECT_TRUE(stream.bernoulli(1));
  }
}

TEST(RngStream, NormalHasUnitVariance) {
  RngStream stream(kDraw);
  constexpr int kCount = 100'000;
  double sum = 0;
  double sum_of_squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.normal();
    sum += x;
    sum_of_squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.015);
  EXPECT_NEAR(sum_of_squares / kCount, 1, 0.02);
}

TEST(RngStream, ShuffleReachesEveryOrderEqually) {
  RngStream stream(kDraw);
  std::array<int, 6> seen{};
  const std::array<std::array<int, 3>, 6> orders{
      {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
  for (int i = 0; i < 60'000; ++i) {
    std::array<int, 3> cards{0, 1, 2};
    stream.shuffle(cards);
    ++seen.at(static_cast<std::size_t>(std::find(orders.begin(), orders.end(), cards) - orders.begin()));
  }
  double chi_square = 0;
  for (const int count : seen) chi_square += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  EXPECT_LT(chi_square, 20.5);  // 0.999 quantile with 5 degrees of freedom
}

}  // namespace
}  // namespace forkpoint::core
