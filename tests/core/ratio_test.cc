#include "core/ratio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/fake_clock.h"

namespace forkpoint::core {
namespace {

using std::chrono::milliseconds;

TEST(MeasureRatio, DividesTheMedians) {
  tests::FakeClock clock;
  int calls = 0;
  const RatioRow row = measure_ratio(
      {"ours", [&] { clock.sleep_for(milliseconds(++calls % 10 == 0 ? 500 : 2)); }},
      {"peer", [&] { clock.sleep_for(milliseconds(8)); }}, {.repeats = 50, .warmups = 0}, clock);
  EXPECT_EQ(row.what, "ours");
  EXPECT_EQ(row.peer, "peer");
  EXPECT_DOUBLE_EQ(row.ours_ms_p50, 2);
  EXPECT_DOUBLE_EQ(row.ours_ms_p99, 500);
  EXPECT_DOUBLE_EQ(row.peer_ms_p50, 8);
  EXPECT_DOUBLE_EQ(row.peer_ms_p99, 8);
  EXPECT_DOUBLE_EQ(row.ratio, 0.25);
  EXPECT_EQ(row.n, 50);
}

TEST(MeasureRatio, TakesTurnsAndSwapsWhoGoesFirst) {
  tests::FakeClock clock;
  std::string order;
  measure_ratio({"ours", [&] { order += 'o'; }}, {"peer", [&] { order += 'p'; }},
                {.repeats = 4, .warmups = 1}, clock);
  EXPECT_EQ(order,
            "op"
            "op"
            "po"
            "op"
            "po");
}

TEST(MeasureRatio, LeavesTheWarmUpOut) {
  tests::FakeClock clock;
  int calls = 0;
  const RatioRow row =
      measure_ratio({"ours", [&] { clock.sleep_for(milliseconds(++calls <= 3 ? 100 : 1)); }},
                    {"peer", [&] { clock.sleep_for(milliseconds(1)); }}, {.repeats = 1, .warmups = 3}, clock);
  EXPECT_DOUBLE_EQ(row.ours_ms_p99, 1);
}

TEST(Quantile, IsTheNearestRank) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(quantile({5}, 0.01), 5);
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  EXPECT_EQ(quantile(hundred, 0.99), 99);
  EXPECT_EQ(quantile(hundred, 1), 100);
}

TEST(ToTable, AlignsItsColumns) {
  const std::vector<RatioRow> rows = {{.what = "a long name", .peer = "p", .ratio = 0.5, .n = 50},
                                      {.what = "b", .peer = "another peer", .ratio = 12.25, .n = 200}};
  const std::string table = to_table(rows);
  std::vector<std::size_t> widths;
  for (std::size_t start = 0, end = 0; (end = table.find('\n', start)) != table.npos; start = end + 1) {
    widths.push_back(end - start);
  }
  EXPECT_THAT(widths, testing::ElementsAre(widths[0], widths[0], widths[0]));
  EXPECT_THAT(table, testing::HasSubstr(" 12.250    200\n"));
}

}  // namespace
}  // namespace forkpoint::core
