#include "sandbox/junit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "core/utf8.h"

namespace forkpoint::sandbox {
namespace {

TEST(JUnit, WritesCasesAndCounts) {
  const SuiteReport shell{
      .name = "shell",
      .cases = {{.name = "a", .status = CaseStatus::passed, .reason = "", .wall_s = 0.25},
                {.name = "b", .status = CaseStatus::failed, .reason = "1 < 2 & \"x\"\nline", .wall_s = 1},
                {.name = "c", .status = CaseStatus::skipped, .reason = "needs L3", .wall_s = 0}}};
  EXPECT_EQ(to_junit({shell, {.name = "empty", .cases = {}}}),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" skipped="1" time="1.250">
  <testsuite name="shell" tests="3" failures="1" errors="0" skipped="1" time="1.250">
    <testcase classname="shell" name="a" time="0.250"/>
    <testcase classname="shell" name="b" time="1.000">
      <failure message="1 &lt; 2 &amp; &quot;x&quot;&#10;line">1 &lt; 2 &amp; &quot;x&quot;&#10;line</failure>
    </testcase>
    <testcase classname="shell" name="c" time="0.000">
      <skipped message="needs L3"/>
    </testcase>
  </testsuite>
  <testsuite name="empty" tests="0" failures="0" errors="0" skipped="0" time="0.000">
  </testsuite>
</testsuites>
)");
}

TEST(XmlEscaped, KeepsText) {
  EXPECT_EQ(xml_escaped("plain 'text' \u00fc\U0001F600"), "plain 'text' \u00fc\U0001F600");
}

TEST(XmlEscaped, NamesControlCharacters) {
  EXPECT_EQ(xml_escaped(std::string("\x1b[32m\0\x07\x7f", 8)), "\\x1b[32m\\x00\\x07\\x7f");
  EXPECT_EQ(xml_escaped("a\tb\r\nc"), "a&#9;b&#13;&#10;c");
}

TEST(XmlEscaped, ReplacesWhatIsNoCharacter) {
  EXPECT_EQ(xml_escaped("a\xff"
                        "b\xc3"),
            "a\uFFFDb\uFFFD");
  EXPECT_EQ(xml_escaped("\xef\xbf\xbe-\xef\xbf\xbf"), "\uFFFD-\uFFFD");
  EXPECT_EQ(xml_escaped("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
}

RC_GTEST_PROP(XmlEscaped, GivesWhatXmlCanHold, (const std::string& bytes)) {
  const std::string xml = xml_escaped(bytes);
  RC_ASSERT(core::is_utf8(xml));
  for (const char character : xml) {
    RC_ASSERT(static_cast<unsigned char>(character) >= 0x20);
    RC_ASSERT(character != '<' && character != '>' && character != '"');
  }
}

}  // namespace
}  // namespace forkpoint::sandbox
