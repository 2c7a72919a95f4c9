#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/read_text.h"

namespace forkpoint::tests {
namespace {

std::string action(const std::string& text) { return command("thought_action", text); }

TEST(ThoughtAction, TakesTheLastBlock) {
  EXPECT_EQ(action("I look.\n```\nls -a\n```"), "ls -a");
  EXPECT_EQ(action("It printed\n```\nerror: can't\n```\nso I'll open it.\n```\nopen a.py 3\n```\n"),
            "open a.py 3");
  EXPECT_EQ(action("```bash\nmake\nmake test\n```\n"), "make\nmake test");
}

TEST(ThoughtAction, TakesTheTextBeforeAndAfterAsTheThought) {
  EXPECT_EQ(parse("thought_action", "Before\n```\nls\n```\nafter\n").thought, "Before\nafter");
}

TEST(ThoughtAction, OpensALevelAtANamedFence) {
  const std::string nested = "cat > a.md <<'X'\n```python\nprint()\n```\nX";
  EXPECT_EQ(action("Docs:\n```\n" + nested + "\n```\n"), nested);
  EXPECT_EQ(refusal("thought_action", "```\nls\n```python\n```\n"), "unclosed_block");
}

TEST(ThoughtAction, TakesAnyTextInACommandThatNamesItsEnd) {
  const std::string edit = "edit 4:5\n    print(\"it's\" << 1)\nend_of_edit";
  EXPECT_EQ(action("```\n" + edit + "\n```"), edit);
  EXPECT_EQ(refusal("thought_action", "```\necho \"it's\n```"), "incomplete_command");
}

TEST(ThoughtAction, RefusesWhatHasNoBlockOrAnOpenOne) {
  EXPECT_EQ(refusal("thought_action", "```ls```"), "no_call");
  EXPECT_EQ(refusal("thought_action", "a ```\nls\n"), "no_call");
  EXPECT_EQ(refusal("thought_action", "```\nls\n```\nnow\n```\nrm x"), "unclosed_block");
  EXPECT_EQ(refusal("thought_action", "```\n\n```"), "empty_command");
}

// Bare fences inside a here-document or a quote leave a last block that is only the rest of a command.
TEST(ThoughtAction, RefusesTheRestOfACommand) {
  EXPECT_EQ(refusal("thought_action", "```\ncat <<EOF > a\n```\ncode\n```\nEOF\n```"), "ambiguous_fences");
  EXPECT_EQ(refusal("thought_action", "```\necho '\n```\ncode\n```\n'\n```"), "incomplete_command");
  EXPECT_EQ(action("```\ncout << x\n```\nI run it.\n```\nmake\n```"), "make") << "no line 'x' follows";
}

TEST(ThoughtAction, TakesNothingOutOfAThought) {
  EXPECT_EQ(action("<think>```\nrm x\n```</think>\n```\nls\n```"), "ls");
  EXPECT_EQ(refusal("thought_action", "<think>\n```\nls\n```"), "unfinished_thought");
}

}  // namespace
}  // namespace forkpoint::tests
