#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/read_text.h"

namespace forkpoint::tests {
namespace {

std::string bash(const std::string& text) { return command("bash_block", text); }

TEST(BashBlock, TakesTheLinesBetweenTheFencesAsTheyAre) {
  EXPECT_EQ(bash("```bash\nls\n```"), "ls");
  EXPECT_EQ(bash("```bash\n  ls  \n\n```\n"), "  ls  \n");
  EXPECT_EQ(bash("```mswea_bash_command\nmake\nmake test\n```\nThat runs all."), "make\nmake test");
  EXPECT_EQ(bash("```bash  \nls\n```  \n"), "ls");
  EXPECT_EQ(bash("Now: ```bash\nls\n```"), "ls");
  EXPECT_EQ(bash("````bash\nls\n````"), "ls");
  EXPECT_EQ(bash("```bash\nprintf '\\t\u00fc\\n' # \u65e5\n```"), "printf '\\t\u00fc\\n' # \u65e5");
}

TEST(BashBlock, TakesTheTextAroundItAsTheThought) {
  EXPECT_EQ(parse("bash_block", "\nFirst\n\n```bash\nls\n```\nthen more.\n").thought, "First\n\nthen more.");
}

TEST(BashBlock, KeepsFencesInsideAHereDocument) {
  const std::string body = "cat > notes.md <<'END'\n# How\n```sh\nmake\n```\n\n```\nplain\n```\nEND";
  EXPECT_EQ(bash("```bash\n" + body + "\n```\n"), body);
  EXPECT_EQ(bash("```bash\n" + body + "\ngit add notes.md\n```\n"), body + "\ngit add notes.md");
  const std::string stripped = "cat <<-X\n\t```\n\tX\necho \"it's\"";
  EXPECT_EQ(bash("```bash\n" + stripped + "\n```"), stripped);
  const std::string substituted = "gh pr create --body \"$(cat <<'EOF'\nIt's:\n```\nx\n```\nEOF\n)\" --draft";
  EXPECT_EQ(bash("```bash\n" + substituted + "\n```"), substituted);
  const std::string lone = "cat >> a.md <<EOF\n```\nEOF";
  EXPECT_EQ(bash("```bash\n" + lone + "\n```"), lone);
  const std::string with_bash = "cat > a.md <<EOF\n```bash\nmake\n```\nEOF";
  EXPECT_EQ(bash("```bash\n" + with_bash + "\n```"), with_bash);
}

TEST(BashBlock, SaysHowMany_WhenThereIsNotExactlyOne) {
  const auto message = [](const std::string& text) { return parse("bash_block", text).errors.at(0).message; };
  EXPECT_THAT(message("no block"), testing::HasSubstr("found 0"));
  EXPECT_THAT(message("```ls```"), testing::HasSubstr("found 0"));
  EXPECT_THAT(message("```python\nprint()\n```"), testing::HasSubstr("found 0"));
  EXPECT_THAT(message("```bash\na\n```\n```bash\nb\n```\n```bash\nc\n```"), testing::HasSubstr("found 3"));
  EXPECT_EQ(refusal("bash_block", "```bash\na\n```\nor\n```mswea_bash_command\nb\n```"), "several_calls");
}

TEST(BashBlock, PassesOverBlocksOfOtherLanguages) {
  EXPECT_EQ(bash("It says\n```\n```bash\nx\n```\nso\n```bash\nls\n```"), "ls");
  EXPECT_EQ(bash("```python\nprint('''\n''')\n```\n```bash\nls\n```"), "ls");
  EXPECT_EQ(refusal("bash_block", "```bash\nls\n```\n```python\nprint()"), "unclosed_block");
}

TEST(BashBlock, RefusesABlockThatIsNotClosed) {
  EXPECT_EQ(refusal("bash_block", "```bash\nls"), "unclosed_block");
  EXPECT_EQ(refusal("bash_block", "```bash\nls\n``"), "unclosed_block");
  EXPECT_EQ(refusal("bash_block", "```bash\ncat <<EOF\n```\nmore\n"), "unclosed_block");
  EXPECT_THAT(parse("bash_block", "```bash\ncat <<EOF\n```\n").errors.at(0).message,
              testing::HasSubstr("the here-document 'EOF' is still open"));
  EXPECT_EQ(refusal("bash_block", "````bash\nls\n```\n"), "unclosed_block");
}

TEST(BashBlock, RefusesABlockThatEndsInsideOfSomething) {
  for (const char* text : {"echo 'a\n```\n'", "echo \"$(\n```\n)\"", "echo `\n```\n`", "echo ${x\n```\n}",
                           "(ls\n```\n)", "cat <<EOF"}) {
    EXPECT_EQ(refusal("bash_block", std::string("```bash\n") + text + "\n```\n"),
              text == std::string("cat <<EOF") ? "unclosed_block" : "incomplete_command")
        << text;
  }
  EXPECT_EQ(refusal("bash_block", "```bash\necho it's\n```\nOutput:\n```\nit's\n```"), "incomplete_command");
}

// A here-document that the model forgot to end must not reach into the next block, where the same delimiter
// ends another one.
TEST(BashBlock, RefusesAHereDocumentThatMayReachIntoTheNextBlock) {
  EXPECT_EQ(refusal("bash_block", "```bash\ncat <<EOF\na\n```\nthen\n```bash\ncat <<EOF\nb\nEOF\n```\n"),
            "ambiguous_fences");
}

TEST(BashBlock, RefusesALineOfTheCommandThatBeginsLikeItsEnd) {
  EXPECT_EQ(refusal("bash_block", "```bash\nls\n```python\npwd\n```\n"), "ambiguous_fences");
  EXPECT_EQ(refusal("bash_block", "```bash\nls\n``` `\n```\n"), "ambiguous_fences");
}

TEST(BashBlock, RefusesAnEmptyBlock) {
  EXPECT_EQ(refusal("bash_block", "```bash\n```"), "empty_command");
  EXPECT_EQ(refusal("bash_block", "```bash\n \n\n```"), "empty_command");
}

TEST(BashBlock, TakesNothingOutOfAThought) {
  EXPECT_EQ(bash("<think>\n```bash\nrm -rf x\n```\n</think>\n```bash\nls\n```"), "ls");
  EXPECT_EQ(refusal("bash_block", "<think>\n```bash\nls\n```\n"), "unfinished_thought");
  EXPECT_EQ(bash("```bash\necho '<think>'\n```"), "echo '<think>'");
}

}  // namespace
}  // namespace forkpoint::tests
