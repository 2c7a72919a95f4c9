#include "core/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace forkpoint::core {
namespace {

TEST(Utf8, TellsTextFromBytes) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain\n"));
  EXPECT_TRUE(is_utf8("\u00fc \u20ac \U0001F600 \U0010FFFF"));
  EXPECT_TRUE(is_utf8(std::string(1, '\0')));
  EXPECT_FALSE(is_utf8("\xff"));
  EXPECT_FALSE(is_utf8("\xc0\xaf")) << "overlong";
  EXPECT_FALSE(is_utf8("\xe0\x9f\xbf")) << "overlong";
  EXPECT_FALSE(is_utf8("\xed\xa0\x80")) << "a surrogate";
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80")) << "above U+10FFFF";
  EXPECT_FALSE(is_utf8("\xe2\x82")) << "cut off";
}

TEST(Utf8, ReplacesAsUnicodeRecommends) {
  EXPECT_EQ(to_utf8("a\x80\xff"
                    "b\n"),
            "a\uFFFD\uFFFDb\n");
  // Table 3-8 of the Unicode standard.
  EXPECT_EQ(to_utf8("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"
            "A");
  // Table 3-11: the beginnings of characters count once each.
  EXPECT_EQ(to_utf8("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD"
            "A");
}

RC_GTEST_PROP(Utf8, MakesTextOfAnything, (const std::string& bytes)) {
  const std::string text = to_utf8(bytes);
  RC_ASSERT(is_utf8(text));
  RC_ASSERT((text == bytes) == is_utf8(bytes));
}

}  // namespace
}  // namespace forkpoint::core
