#include "env/terminal_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/utf8.h"

namespace forkpoint::env {
namespace {

TEST(TerminalText, LeavesPlainTextAlone) {
  for (const char* text : {"", "a", "a\n", "\n\n", "a\tb\n", "\u00fc\u65e5\U0001F600\n", "  x  \n"}) {
    EXPECT_EQ(fold_terminal_text(text), text);
  }
}

TEST(TerminalText, ShowsTheLastStateOfAProgressBar) {
  EXPECT_EQ(fold_terminal_text("\r10%\r55%\r100%\ndone\n"), "100%\ndone\n");
  EXPECT_EQ(fold_terminal_text("load |=  |\rload |== |\rload |===|"), "load |===|");
  EXPECT_EQ(fold_terminal_text("long line\rshort\n"), "shortline\n") << "what is not overwritten stays";
  EXPECT_EQ(fold_terminal_text("long line\r\x1b[Kshort\n"), "short\n");
  EXPECT_EQ(fold_terminal_text("long line\x1b[2K\rshort\n"), "short    \n");
  EXPECT_EQ(fold_terminal_text("50%\r"), "50%");
  EXPECT_EQ(fold_terminal_text("\u00fc\u00fc\u00fc\ra\n"), "a\u00fc\u00fc\n") << "columns are code points";
}

TEST(TerminalText, TakesCrLfForALineEnd) { EXPECT_EQ(fold_terminal_text("a\r\nb\r\r\nc\r\n"), "a\nb\nc\n"); }

TEST(TerminalText, GoesBackOverwriting) {
  EXPECT_EQ(fold_terminal_text("ab\bc\n"), "ac\n");
  EXPECT_EQ(fold_terminal_text("\b\bx|\b/\b-\n"), "x-\n");
}

TEST(TerminalText, ErasesInTheLine) {
  EXPECT_EQ(fold_terminal_text("abc\b\x1b[0Kx\n"), "abx\n");
  EXPECT_EQ(fold_terminal_text("abc\b\b\x1b[1K\n"), "  c\n");
}

TEST(TerminalText, DropsEscapeSequences) {
  EXPECT_EQ(fold_terminal_text("\x1b[32mok\x1b[0m \x1b[1;38;5;12mx\x1b[m"), "ok x");
  EXPECT_EQ(fold_terminal_text("\x1b[?25l\x1b[2J\x1b[H\x1b[3Ax\x1b[?25h"), "x");
  EXPECT_EQ(fold_terminal_text("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\"), "xlink");
  EXPECT_EQ(fold_terminal_text("\x1b(B\x1b=\x1b>\x1b"
                               "7x\x1b"
                               "8\x1b"
                               "Mx\x1bP1$r\x1b\\"),
            "xx");
}

TEST(TerminalText, KeepsTextBehindASequenceThatDoesNotEnd) {
  EXPECT_EQ(fold_terminal_text("\x1b]0;no end\nkept\n"), "]0;no end\nkept\n");
  EXPECT_EQ(fold_terminal_text("a\x1b[12"), "a[12");
  EXPECT_EQ(fold_terminal_text("a\x1b"), "a");
  EXPECT_EQ(fold_terminal_text("a\x1b\x1b[31mb"), "ab");
  EXPECT_EQ(fold_terminal_text("a\x1b[\u00fc"), "a[\u00fc");
}

TEST(TerminalText, DropsOtherControlCharacters) {
  EXPECT_EQ(fold_terminal_text(std::string("a\0b\x01\x07\x0b\x0c\x7f"
                                           "c",
                                           9)),
            "abc");
}

RC_GTEST_PROP(TerminalText, IsUtf8WithoutControlCharactersAndDoneAtOnce, (const std::string& bytes)) {
  const std::string folded = fold_terminal_text(core::to_utf8(bytes));
  RC_ASSERT(core::is_utf8(folded));
  for (const char c : folded) RC_ASSERT(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20);
  RC_ASSERT(fold_terminal_text(folded) == folded);
}

}  // namespace
}  // namespace forkpoint::env
