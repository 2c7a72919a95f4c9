#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/read_text.h"

namespace forkpoint::tests {
namespace {

constexpr const char* kFormat = "xml_function";

Json arguments(const std::string& text, env::Finish finish = env::Finish::unknown) {
  const env::ParsedMessage parsed = parse(kFormat, text, finish);
  if (!parsed.errors.empty()) return parsed.errors.front().code;
  EXPECT_EQ(parsed.calls.size(), 1U);
  return parsed.calls.front().arguments;
}

TEST(XmlFunction, TakesNameParametersAndThought) {
  const env::ParsedMessage parsed = parse(
      kFormat,
      "I edit.\n<function=editor>\n<parameter=command>view</parameter>\n<parameter=path>/a b</parameter>\n"
      "</function>\n");
  ASSERT_EQ(parsed.calls.size(), 1U);
  EXPECT_EQ(parsed.calls[0].tool, "editor");
  EXPECT_EQ(core::to_text(parsed.calls[0].arguments), R"({"command":"view","path":"/a b"})");
  EXPECT_EQ(parsed.calls[0].id, std::nullopt);
  EXPECT_EQ(parsed.thought, "I edit.");
  EXPECT_EQ(arguments("<function=submit>\n</function>"), Json::object());
  EXPECT_EQ(arguments("<function=f><parameter=cmd>ls</parameter></function>"), Json({{"cmd", "ls"}}));
}

TEST(XmlFunction, TakesOneLineEndFromEachSideOfAValueAndNoIndentation) {
  const auto value = [](const std::string& text) {
    return arguments("<function=f>\n<parameter=v>" + text + "</parameter>\n</function>")
        .at("v")
        .get<std::string>();
  };
  EXPECT_EQ(value("\nx\n"), "x");
  EXPECT_EQ(value("\n\n  x\t\n\n"), "\n  x\t\n");
  EXPECT_EQ(value("    x  "), "    x  ");
  EXPECT_EQ(value("\n"), "");
  EXPECT_EQ(value(""), "");
  EXPECT_EQ(value("\nif a < b && c > d: &lt; <![CDATA[ ]]> </b>\n"),
            "if a < b && c > d: &lt; <![CDATA[ ]]> </b>");
}

TEST(XmlFunction, TakesTheFirstFunctionOnly) {
  EXPECT_EQ(
      arguments("<function=f><parameter=a>1</parameter></function>\n<function=g><parameter=b>2</parameter>"
                "</function>"),
      Json({{"a", "1"}}));
}

TEST(XmlFunction, RestoresATailThatHasBegun) {
  const std::string call = "<function=f>\n<parameter=a>1</parameter>\n";
  for (const char* tail : {"</", "</f", "</function", "</\n"}) {
    EXPECT_EQ(arguments(call + tail), Json({{"a", "1"}})) << tail;
  }
  EXPECT_EQ(arguments(call + "<"), "unclosed_call");
  EXPECT_EQ(arguments(call + "</b"), "unclosed_call");
}

// Without "</" another parameter could have followed: the server must say that the model was done.
TEST(XmlFunction, RestoresATailThatIsGone_OnlyWhenTheModelHasStopped) {
  const std::string call = "<function=f>\n<parameter=a>1</parameter>\n";
  EXPECT_EQ(arguments(call), "unclosed_call");
  EXPECT_EQ(arguments(call, env::Finish::stop), Json({{"a", "1"}}));
  EXPECT_EQ(arguments("<function=f>\n<parameter=a>1", env::Finish::stop), "unclosed_call");
  EXPECT_EQ(arguments("<function=f>\n<parameter=a", env::Finish::stop), "unclosed_call");
}

TEST(XmlFunction, RefusesTagsInsideOfValues) {
  const auto call = [](const std::string& value) {
    return arguments("<function=f>\n<parameter=a>" + value + "</parameter>\n</function>");
  };
  EXPECT_EQ(call("echo '</parameter>'"), "unbalanced_tags");
  EXPECT_EQ(call("echo '</function>'"), "unbalanced_tags");
  EXPECT_EQ(call("x\n</parameter>\n</function>\ny"), "unbalanced_tags");
  EXPECT_EQ(call("x\n</parameter>\n<parameter=b>y"), Json({{"a", "x"}, {"b", "y"}})) << "two parameters";
  EXPECT_EQ(call("<function=g>\n<parameter=b>y</parameter>\n</function>"), "unbalanced_tags");
}

TEST(XmlFunction, NeverSwallowsAParameter) {
  EXPECT_EQ(arguments("<function=f>\n<parameter=a>view\n<parameter=b>/x</parameter>\n</function>"),
            "unbalanced_tags");
  EXPECT_EQ(arguments("<function=f>\n<parameter=a>1</parameter> and <parameter=b>2</parameter>\n</function>"),
            "unbalanced_tags");
}

TEST(XmlFunction, RefusesTagsOutsideOfFunctions) {
  EXPECT_EQ(arguments("<parameter=a>1</parameter>\n"), "unbalanced_tags");
  EXPECT_EQ(arguments("<function=f></function></function>"), "unbalanced_tags");
}

TEST(XmlFunction, RefusesNamesThatAreNone) {
  for (const char* open :
       {"<function=>", "<function=a b>", "<function=\"a\">", "<function=f\n<parameter=a>"}) {
    EXPECT_EQ(arguments(std::string(open) + "</function>"), "bad_call") << open;
  }
  EXPECT_EQ(arguments("<function=f><parameter=>1</parameter></function>"), "bad_call");
}

TEST(XmlFunction, RefusesAParameterThatStandsTwice) {
  EXPECT_EQ(arguments("<function=f><parameter=a>1</parameter><parameter=a>1</parameter></function>"),
            "duplicate_argument");
}

TEST(XmlFunction, TakesNothingOutOfAThought) {
  const std::string draft = "<function=f><parameter=a>draft</parameter></function>";
  const std::string real = "<function=f><parameter=a>real</parameter></function>";
  EXPECT_EQ(arguments("<think>" + draft + "</think>\n" + real), Json({{"a", "real"}}));
  EXPECT_EQ(arguments("Well <think>" + draft + "</think>\n" + real), Json({{"a", "real"}}));
  EXPECT_EQ(arguments(draft + "</think>\n" + real), Json({{"a", "real"}}))
      << "the prompt has opened the thought";
  EXPECT_EQ(arguments("<think>" + draft), "unfinished_thought");
}

}  // namespace
}  // namespace forkpoint::tests
