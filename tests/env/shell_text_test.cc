#include "env/parsers/shell_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "core/file.h"
#include "core/temp_dir.h"
#include "env/parsers/text.h"

namespace forkpoint::env {
namespace {

using ::testing::ElementsAre;

ShellText read(const std::string& text) {
  ShellText shell;
  std::size_t at = 0;
  while (const auto line = line_at(text, at)) {
    shell.add_line(line->of(text));
    at = line->next;
  }
  return shell;
}

std::string open(const std::string& text) { return read(text).open().value_or("nothing"); }

// Complete commands, with what could be taken for something that opens.
const char* const kComplete[] = {
    "ls",
    "# it's a comment with ` and \" and <<EOF",
    "ls # it's",
    "ls;# it's",
    "echo a#b 'c' #\"",
    "echo ${#x} $# $$ \\' \\\" \\` \\( \\)",
    "echo \"it's # no comment $(echo \"nested 'quotes'\") `pwd`\"",
    "echo 'single \" ` $( \\'",
    "echo $'it\\'s'",
    "echo \"$'\" 'x'",
    "x=\"${y:-'}'}\"",
    "x=\"${y:-it\\'s}\"",
    "x=${y:-'}'}",
    "x=\"${y//\\\"/\\\\\\\"}\"",
    "x=${y%%\"}\"*}",
    "(cd /; ls) && { ls; }",
    "a=(1 2 'x y')",
    "f() { echo 'x'; }; f",
    "f() { case $1 in a) echo b;; esac; }",
    "x=$(case $y in a) echo b;; *) echo \"c\";; esac)",
    "x=\"$(case $y in\n  (a) echo it\\'s;;\n  b|c) echo d;;\nesac)\"",
    "echo $(grep case file) $(echo esac)",
    "echo $((1 << 2)) $(( (1+2) << 3 ))",
    "((x = 1 << 2)); ls",
    "for ((i=0; i<1<<3; i++)); do ls; done",
    "echo $[1 << 2]",
    "echo $(( $(echo 1) + ${x:-2} ))",
    "cat <<< \"it's\"",
    "cat <(ls) >(cat)",
    "ls \\\n  -la",
    "echo 'two\nlines'",
    "if [[ $x =~ ^(a|b)$ ]]; then ls; fi",
    "sed -e 's/\\(a\\)/\\1/' -e \"s/'//\" file",
    "awk '{ print $1 }' <file 2>&1 | sort &",
    "cat <<EOF\nit's \" ` $( body\nEOF",
    "cat <<EOF && ls\nbody\nEOF\necho 'x'",
    "cat <<'EOF' > file\nEOF",
    "cat <<\"E F\"\n EOF\nE F",
    "cat <<\\EOF\nline\\\nEOF",
    "cat <<EOF\nline\\\\\nEOF",
    "cat <<EOF\nEO\\\nF",
    "cat <<-EOF\n\tbody\n\t\tEOF",
    "cat <<A - <<B\na's\nA\nb's\nB",
    "x=$(cat <<EOF\nit's\nEOF\n)",
    "x=\"$(cat <<'EOF'\nit's )\nEOF\n)\"",
    "(cat <<EOF\nit's (\nEOF\n)",
    "cat <<EOF \\\n  | sort\nit's\nEOF",
    "cat << EOF\nx\nEOF",
    "while read -r x; do echo \"$x\"; done <<EOF\n$(ls)\nEOF",
    "python3 - <<'PY' \"it's\"\nprint('\"')\nPY",
    "echo \"a\nb\" <<EOF\nit's\nEOF",
    "echo `echo \\`pwd\\``",
    "let 'x=1<<2'",
    "echo a\\\nb",
};

struct OpenText {
  const char* text;
  const char* open;
};

const OpenText kOpen[] = {
    {"echo 'a", "a single quote"},
    {"echo $'a\\'", "a single quote"},
    {"echo \"a", "a double quote"},
    {"echo it's", "a single quote"},
    {"echo \"a $(ls\"", "a double quote"},
    {"echo $(ls", "a substitution $("},
    {"cat <(ls", "a substitution $("},
    {"echo `ls", "a backquote"},
    {"x=\"${y:-it's}\"", "a single quote"},
    {"echo ${x", "an expansion ${"},
    {"echo $((1 + 2)", "an arithmetic expression"},
    {"(ls", "a parenthesis"},
    {"a=(1 2", "a parenthesis"},
    {"cat <<EOF", "the here-document 'EOF'"},
    {"cat <<EOF\nbody\n EOF", "the here-document 'EOF'"},
    {"cat <<EOF\nbody\nEOF ", "the here-document 'EOF'"},
    {"cat <<'a b'\nbody\na", "the here-document 'a b'"},
    {"cat <<EOF\nbody\\\nEOF", "the here-document 'EOF'"},
    {"cat <<A <<B\nA\n", "the here-document 'B'"},
    {"cat <<-EOF\n EOF", "the here-document 'EOF'"},
};

TEST(ShellText, KnowsWhatIsComplete) {
  for (const char* text : kComplete) EXPECT_EQ(open(text), "nothing") << text;
}

TEST(ShellText, KnowsWhatIsOpen) {
  for (const OpenText& one : kOpen) EXPECT_EQ(open(one.text), one.open) << one.text;
}

TEST(ShellText, KnowsWhichLinesAreText) {
  ShellText shell;
  shell.add_line("cat <<A <<'B' \"");
  EXPECT_FALSE(shell.in_here_document()) << "inside the quote the line goes on";
  EXPECT_THAT(shell.delimiters(), ElementsAre("A", "B"));
  shell.add_line("\"");
  EXPECT_TRUE(shell.in_here_document());
  shell.add_line("A");
  EXPECT_TRUE(shell.in_here_document());
  EXPECT_THAT(shell.delimiters(), ElementsAre("B"));
  shell.add_line("B");
  EXPECT_FALSE(shell.in_here_document());
  EXPECT_EQ(shell.open(), std::nullopt);
}

// bash itself reads the same texts: with -n it runs nothing. It takes the end of the text for the end of a
// here-document, with a warning, so for these the warning counts.
TEST(ShellText, AgreesWithBash) {
  if (std::system("bash -c : >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no bash here";
  const core::TempDir folder = core::TempDir::create("shell_text").value();
  const std::string script = folder.path() / "script";
  const auto accepted = [&](const char* text) {
    EXPECT_TRUE(core::write_file(script, text).has_value());
    const std::string run = "LC_ALL=C bash -n '" + script + "' 2>'" + script + ".err'";
    return std::system(run.c_str()) == 0 && core::read_file(script + ".err").value().empty();
  };
  for (const char* text : kComplete) EXPECT_TRUE(accepted(text)) << text;
  for (const OpenText& one : kOpen) EXPECT_FALSE(accepted(one.text)) << one.text;
}

}  // namespace
}  // namespace forkpoint::env
