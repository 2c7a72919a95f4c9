#include "sandbox/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace forkpoint::sandbox {
namespace {

TEST(ParseBytes, KnowsBinaryMultiples) {
  EXPECT_EQ(parse_bytes("0").value(), 0u);
  EXPECT_EQ(parse_bytes("4096").value(), 4096u);
  EXPECT_EQ(parse_bytes("64K").value(), 65536u);
  EXPECT_EQ(parse_bytes("256M").value(), 268435456u);
  EXPECT_EQ(parse_bytes("1G").value(), 1073741824u);
  EXPECT_EQ(parse_bytes("2T").value(), 2199023255552u);
  EXPECT_EQ(parse_bytes("1.5G").value(), 1610612736u);
  EXPECT_EQ(parse_bytes("0.5k").value(), 512u);
  EXPECT_EQ(parse_bytes("3MiB").value(), 3145728u);
  EXPECT_EQ(parse_bytes("9223372036854775807").value(), 9223372036854775807u);
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"",
                           " ",
                           "-1",
                           "+1",
                           "-5M",
                           "nan",
                           "inf",
                           "1e30",
                           "1e3",
                           "0x10",
                           "M",
                           "1.",
                           ".5",
                           "1.5",
                           "0.3K",
                           "1,5G",
                           "5MB",
                           "5X",
                           "5 M",
                           " 5",
                           "5\n",
                           "5Mi",
                           "1..2",
                           "1.2.3K",
                           "9223372036854775808",
                           "8388608T",
                           "99999999999999999999999",
                           "9000000000.5T"}) {
    const Result<std::uint64_t> bytes = parse_bytes(text);
    ASSERT_FALSE(bytes.has_value()) << "'" << text << "' is " << *bytes;
    EXPECT_EQ(bytes.error().code, "bad_quantity");
    EXPECT_EQ(bytes.error().fault, Fault::input);
  }
}

TEST(ParseBytes, SaysWhatIsExpected) {
  EXPECT_EQ(parse_bytes("-5M").error().message,
            "must be a number of bytes, or one with K, M, G or T, such as 256M, not '-5M'");
  EXPECT_EQ(parse_bytes("8388608T").error().message,
            "must be a number of bytes, or one with K, M, G or T, such as 256M, not '8388608T': too large");
  EXPECT_EQ(
      parse_bytes("1.5").error().message,
      "must be a number of bytes, or one with K, M, G or T, such as 256M, not '1.5': not a whole number of "
      "bytes");
}

RC_GTEST_PROP(ParseBytes, ReadsEveryWholeNumber, (std::uint32_t number)) {
  RC_ASSERT(parse_bytes(std::to_string(number)).value() == number);
  RC_ASSERT(parse_bytes(std::to_string(number) + "K").value() == std::uint64_t{number} * 1024);
}

TEST(ParseSeconds, KnowsItsUnits) {
  EXPECT_EQ(parse_seconds("10").value(), 10.0);
  EXPECT_EQ(parse_seconds("0").value(), 0.0);
  EXPECT_EQ(parse_seconds("0.25").value(), 0.25);
  EXPECT_EQ(parse_seconds("10s").value(), 10.0);
  EXPECT_EQ(parse_seconds("500ms").value(), 0.5);
  EXPECT_EQ(parse_seconds("100ms").value(), parse_seconds("0.1s").value());
  EXPECT_EQ(parse_seconds("2m").value(), 120.0);
  EXPECT_EQ(parse_seconds("1.5h").value(), 5400.0);
  EXPECT_EQ(parse_seconds("1000000000").value(), 1e9);
}

TEST(ParseSeconds, RefusesWhatIsNoTime) {
  for (const char* text :
       {"",       " ",     "-1",   "-1s",  "+1",         "nan",
        "NaN",    "inf",   "-inf", "1e30", "1e3s",       "s",
        "ms",     "1.s",   ".5s",  "10 s", " 10s",       "10S",
        "10d",    "10sec", "0x10", "1:30", "1000000001", "99999999999999999999999999999999999",
        "300000h"}) {
    const Result<double> seconds = parse_seconds(text);
    ASSERT_FALSE(seconds.has_value()) << "'" << text << "' is " << *seconds;
    EXPECT_EQ(seconds.error().code, "bad_quantity");
  }
  EXPECT_FALSE(parse_seconds(std::string(400, '9')).has_value()) << "beyond what a double holds";
}

}  // namespace
}  // namespace forkpoint::sandbox
