// ShellText: how far a bash command that is read line by line is complete.
//
//   ShellText shell;
//   for (std::string_view line : lines) shell.add_line(line);
//   if (shell.in_here_document()) ...  // the next line is text, not shell
//   if (const auto open = shell.open()) ...  // "the here-document 'EOF'"
//
// It knows bash's quotes, comments, expansions, parentheses and here-documents, which is what decides where a
// command can end; it does not know bash's grammar. What it takes for complete may still be refused by bash.
//
// Not synchronized. Memory is bounded by the text's nesting and longest line.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::env {

class ShellText {
 public:
  // A line without its line end.
  void add_line(std::string_view line);

  // Whether the next line belongs to the body of a here-document (or ends it).
  bool in_here_document() const { return in_body_; }

  // The delimiters of the here-documents that are still to end, first to end first.
  std::vector<std::string> delimiters() const;

  // What keeps the text from being complete, in words, innermost first; nothing when it is complete.
  std::optional<std::string> open() const;

 private:
  enum class Kind : std::uint8_t {
    command,       // the outermost level
    group,         // ( ... )
    substitution,  // $( ... ), <( ... ), >( ... )
    single_quote,
    ansi_quote,  // $'...'
    double_quote,
    backquote,
    parameter,      // ${...}
    arithmetic,     // $((...)), ((...))
    old_arithmetic  // $[...]
  };
  struct Level {
    Kind kind = Kind::command;
    int depth = 0;  // brackets open in arithmetic
    int cases = 0;  // `case`s without their `esac`: a pattern's ) closes nothing
  };
  struct HereDocument {
    std::string delimiter;
    bool quoted = false;  // then the body is taken literally
    bool tabs_stripped = false;
  };

  void add_body_line(std::string_view line);
  // Each reads what stands at `at` and returns where to go on.
  std::size_t step(std::string_view line, std::size_t at);
  std::size_t step_command(std::string_view line, std::size_t at);
  std::size_t step_expansion(std::string_view line, std::size_t at);
  std::size_t step_arithmetic(std::string_view line, std::size_t at);
  std::size_t step_quoted(std::string_view line, std::size_t at);
  std::size_t open_parenthesis(std::string_view line, std::size_t at);
  std::size_t read_here_document(std::string_view line, std::size_t at);
  void close_parenthesis();
  void end_line();
  void end_word();
  void separate(bool command_follows);
  void push(Kind kind, int depth = 0);
  void pop();
  bool at_command_level() const;

  std::vector<Level> levels_ = {Level{}};
  std::deque<HereDocument> documents_;  // announced and not yet ended
  bool in_body_ = false;
  std::string body_line_;        // of an unquoted body: a line that a backslash joins to the next
  bool line_continues_ = false;  // the last line of shell text ended in a backslash
  bool word_begins_ = true;      // whether # would begin a comment
  bool command_begins_ = true;   // whether a word would be a keyword
  std::string word_;             // the word that is being read, if it could be a keyword
};

}  // namespace forkpoint::env
