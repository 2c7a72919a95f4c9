#include "core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>

namespace forkpoint::core {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, KeepsTheOrderOfKeys) {
  EXPECT_EQ(to_text(parse_json(R"({"z": 1, "a": [true, null]})", "text").value()),
            R"({"z":1,"a":[true,null]})");
}

TEST(Json, SaysWhere_WhenTheTextIsBroken) {
  const Error error = parse_json("{\n  \"a\": 1,\n  oops\n}", "tasks.json").error();
  EXPECT_EQ(error.code, "json_syntax");
  EXPECT_EQ(error.fault, Fault::input);
  EXPECT_THAT(error.message, StartsWith("tasks.json:3:3: "));
  EXPECT_THAT(error.message, Not(HasSubstr("json.exception")));
}

TEST(Json, CountsLinesFromTheOneGiven) {
  EXPECT_THAT(parse_json("{]", "rows.jsonl", {}, 17).error().message, StartsWith("rows.jsonl:17:2: "));
}

TEST(Json, RefusesWhatIsNotExactlyOneValue) {
  for (const char* text :
       {"", " ", "{} {}", "{\"a\":1,}", "[1", "nul", "\"\xff\"", "\"a\nb\"", "NaN", "01"}) {
    EXPECT_EQ(parse_json(text, "text").error().code, "json_syntax") << text;
  }
}

TEST(Json, RefusesANumberThatNoDoubleHolds) {
  const Error error = parse_json("[1e999]", "text").error();
  EXPECT_EQ(error.code, "json_syntax");
  EXPECT_THAT(error.message, StartsWith("text:1: "));
}

TEST(Json, LimitsDepth_ExactlyAtTheLimit) {
  EXPECT_TRUE(parse_json(nested(128), "text").has_value());
  const Error error = parse_json(nested(129), "text").error();
  EXPECT_EQ(error.code, "json_too_deep");
  EXPECT_EQ(error.message, "text:1:129: JSON nested deeper than 128");
  EXPECT_EQ(parse_json(nested(10'000'000), "text").error().code, "json_too_deep");
}

TEST(Json, DoesNotCountBracketsInsideStrings) {
  EXPECT_TRUE(parse_json(R"(["\"[[[[", "[[[["])", "text", {.depth_max = 1}).has_value());
}

TEST(Json, LimitsSize) {
  EXPECT_TRUE(parse_json("[1,2]", "text", {.bytes_max = 5}).has_value());
  EXPECT_EQ(parse_json("[1,2] ", "text", {.bytes_max = 5}).error().code, "json_too_large");
}

TEST(Json, WritesBrokenBytesAsReplacementCharacters) {
  EXPECT_EQ(to_text(Json("a\x80\xff"
                         "b")),
            "\"a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b\"");
}

TEST(Json, WritesNumbersThatJsonLacksAsNull) {
  EXPECT_EQ(to_text(Json{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}),
            "[null,null]");
}

TEST(Json, Indents) { EXPECT_EQ(to_text(Json{{"a", 1}}, 2), "{\n  \"a\": 1\n}"); }

RC_GTEST_PROP(Json, ReadsBackWhatItWrites, (const std::map<std::string, std::vector<double>>& numbers)) {
  const auto ascii = rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  Json value = {{"text", *ascii}};
  std::size_t index = 0;
  for (const auto& [unused, row] : numbers) value[std::to_string(index++)] = row;
  const Result<Json> again = parse_json(to_text(value), "written");
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == value);
}

}  // namespace
}  // namespace forkpoint::core
