#include "env/text_template.h"

#include <gtest/gtest.h>

namespace forkpoint::env {
namespace {

const std::vector<std::string> kNames = {"exit_code", "output"};

std::string fill(std::string_view text) {
  return TextTemplate::parse(text, kNames, "t")
      .value()
      .fill({{"exit_code", "7"}, {"output", "{exit_code} }"}});
}

TEST(TextTemplate, PutsInValuesAndNeverLooksAtThemAgain) {
  EXPECT_EQ(fill(""), "");
  EXPECT_EQ(fill("plain"), "plain");
  EXPECT_EQ(fill("{exit_code}{exit_code}"), "77");
  EXPECT_EQ(fill("<{output}> is {exit_code}."), "<{exit_code} }> is 7.");
  EXPECT_EQ(fill("{{output}} {{{exit_code}}} }}{{"), "{output} {7} }{");
}

TEST(TextTemplate, KnowsWhatItUses) {
  const TextTemplate text = TextTemplate::parse("{output} exit_code {{exit_code}}", kNames, "t").value();
  EXPECT_TRUE(text.uses("output"));
  EXPECT_FALSE(text.uses("exit_code"));
}

TEST(TextTemplate, SuggestsTheNearestPlaceholder_WhenOneIsUnknown) {
  const Error error = TextTemplate::parse("{exit_cod}", kNames, "templates.result").error();
  EXPECT_EQ(error.code, "unknown_placeholder");
  EXPECT_EQ(error.fault, Fault::input);
  EXPECT_EQ(error.to_line(),
            "templates.result: unknown placeholder '{exit_cod}' (did you mean '{exit_code}'?)");
  EXPECT_EQ(TextTemplate::parse("{}", kNames, "t").error().to_line(),
            "t: unknown placeholder '{}' (there are exit_code, output)");
  EXPECT_EQ(TextTemplate::parse("{ output }", kNames, "t").error().code, "unknown_placeholder");
}

TEST(TextTemplate, RefusesABraceAlone) {
  for (const char* text : {"{", "a } b", "{output", "{{{output"}) {
    EXPECT_EQ(TextTemplate::parse(text, kNames, "t").error().code, "bad_template") << text;
  }
  EXPECT_EQ(TextTemplate::parse("a } b", kNames, "t").error().to_line(),
            "t: a '}' without its counterpart (for a brace itself write '}}')");
}

TEST(TextTemplateDeathTest, NeedsAValueForEveryPlaceholder) {
  const TextTemplate text = TextTemplate::parse("{output}", kNames, "t").value();
  EXPECT_DEATH(text.fill({{"exit_code", "7"}}), "a placeholder without a value");
}

}  // namespace
}  // namespace forkpoint::env
