#include "env/parsers/shell_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/check.h"

namespace forkpoint::env {
namespace {

// Words behind which a command begins again.
constexpr std::array<std::string_view, 10> kBeforeCommands = {"if",    "then", "else", "elif", "while",
                                                              "until", "do",   "{",    "!",    "time"};

bool is_blank_in_line(char c) { return c == ' ' || c == '\t'; }

bool ends_word(char c) {
  return is_blank_in_line(c) || std::string_view(";&|<>()").find(c) != std::string_view::npos;
}

char char_at(std::string_view line, std::size_t at) { return at < line.size() ? line[at] : '\0'; }

// A backslash at the very end, that is, one that is not itself escaped.
bool ends_in_backslash(std::string_view line) {
  const std::size_t last_other = line.find_last_not_of('\\');
  const std::size_t count = line.size() - (last_other == std::string_view::npos ? 0 : last_other + 1);
  return count % 2 == 1;
}

// The part of a here-document's word that is quoted from `at` on, which is a quote: appended to `word`.
std::size_t read_quoted(std::string_view line, std::size_t at, std::string& word) {
  const char quote = line[at++];
  while (at < line.size() && line[at] != quote) {
    const bool escapes = quote == '"' && line[at] == '\\' && at + 1 < line.size() &&
                         std::string_view("\\\"$`").find(line[at + 1]) != std::string_view::npos;
    word += line[at + (escapes ? 1 : 0)];
    at += escapes ? 2 : 1;
  }
  return std::min(at + 1, line.size());
}

}  // namespace

void ShellText::add_line(std::string_view line) {
  if (in_body_) {
    add_body_line(line);
    return;
  }
  line_continues_ = false;
  for (std::size_t at = 0; at < line.size();) at = step(line, at);
  end_line();
}

// bash joins lines that end in a backslash before it looks for the delimiter, unless that was quoted.
void ShellText::add_body_line(std::string_view line) {
  const HereDocument& document = documents_.front();
  if (!document.quoted && ends_in_backslash(line)) {
    body_line_ += line.substr(0, line.size() - 1);
    return;
  }
  body_line_ += line;
  std::string_view whole = body_line_;
  if (document.tabs_stripped) whole.remove_prefix(std::min(whole.find_first_not_of('\t'), whole.size()));
  const bool ends = whole == document.delimiter;
  body_line_.clear();
  if (!ends) return;
  documents_.pop_front();
  in_body_ = !documents_.empty();
}

std::size_t ShellText::step(std::string_view line, std::size_t at) {
  switch (levels_.back().kind) {
    case Kind::command:
    case Kind::group:
    case Kind::substitution: return step_command(line, at);
    case Kind::arithmetic:
    case Kind::old_arithmetic: return step_arithmetic(line, at);
    case Kind::single_quote:
    case Kind::ansi_quote:
    case Kind::double_quote:
    case Kind::backquote:
    case Kind::parameter: return step_quoted(line, at);
  }
  FORKPOINT_UNREACHABLE();
}

std::size_t ShellText::step_command(std::string_view line, std::size_t at) {
  const char c = line[at];
  if (is_blank_in_line(c)) {
    end_word();
    word_begins_ = true;
    return at + 1;
  }
  if (c == '#' && word_begins_) return line.size();
  switch (c) {
    case ';':
    case '&':
    case '|': separate(true); return at + 1;
    case '(': return open_parenthesis(line, at);
    case ')': close_parenthesis(); return at + 1;
    case '<':
      if (line.substr(at).starts_with("<<<")) {
        separate(false);
        return at + 3;
      }
      if (char_at(line, at + 1) == '<') return read_here_document(line, at + 2);
      [[fallthrough]];
    case '>':
      separate(false);
      if (char_at(line, at + 1) != '(') return at + 1;
      push(Kind::substitution);
      return at + 2;
    default: break;
  }
  word_begins_ = false;
  word_ += c;  // quotes, too: a word that has any is no keyword
  return step_expansion(line, at);
}

// Quotes, escapes and expansions, which begin alike wherever they may begin; else one character.
std::size_t ShellText::step_expansion(std::string_view line, std::size_t at) {
  // Inside "${...}" bash takes ' for a quote again, unless it is told to follow POSIX.
  const bool quoted = levels_.back().kind == Kind::double_quote;
  const char next = char_at(line, at + 1);
  switch (line[at]) {
    case '\\': line_continues_ = at + 1 == line.size(); return std::min(at + 2, line.size());
    case '\'':
      if (!quoted) push(Kind::single_quote);
      return at + 1;
    case '"': push(Kind::double_quote); return at + 1;
    case '`': push(Kind::backquote); return at + 1;
    case '$': break;
    default: return at + 1;
  }
  if (next == '(') {
    const bool arithmetic = char_at(line, at + 2) == '(';
    push(arithmetic ? Kind::arithmetic : Kind::substitution, 2);
    return at + (arithmetic ? 3 : 2);
  }
  if (next == '{') {
    push(Kind::parameter);
    return at + 2;
  }
  if (next == '[') {
    push(Kind::old_arithmetic, 1);
    return at + 2;
  }
  if (next == '\'' && !quoted) {
    push(Kind::ansi_quote);
    return at + 2;
  }
  // $$, $# and the like: the second character is neither a quote nor a comment.
  return at + (next == '$' || next == '#' ? 2 : 1);
}

// No here-documents and no comments here: << is a shift, # a base.
std::size_t ShellText::step_arithmetic(std::string_view line, std::size_t at) {
  Level& level = levels_.back();
  const bool old = level.kind == Kind::old_arithmetic;
  if (line[at] == (old ? '[' : '(')) {
    ++level.depth;
  } else if (line[at] == (old ? ']' : ')')) {
    if (--level.depth == 0) pop();
  } else {
    return step_expansion(line, at);
  }
  return at + 1;
}

std::size_t ShellText::step_quoted(std::string_view line, std::size_t at) {
  const Kind kind = levels_.back().kind;
  const char c = line[at];
  const bool closes = (c == '\'' && (kind == Kind::single_quote || kind == Kind::ansi_quote)) ||
                      (c == '"' && kind == Kind::double_quote) || (c == '`' && kind == Kind::backquote) ||
                      (c == '}' && kind == Kind::parameter);
  if (closes) {
    pop();
    return at + 1;
  }
  if (kind == Kind::single_quote) return at + 1;
  if (kind == Kind::ansi_quote || kind == Kind::backquote) {
    return c == '\\' ? std::min(at + 2, line.size()) : at + 1;
  }
  return step_expansion(line, at);
}

std::size_t ShellText::open_parenthesis(std::string_view line, std::size_t at) {
  end_word();
  const bool arithmetic = char_at(line, at + 1) == '(';
  push(arithmetic ? Kind::arithmetic : Kind::group, 2);
  return at + (arithmetic ? 2 : 1);
}

void ShellText::close_parenthesis() {
  end_word();
  Level& level = levels_.back();
  if (level.cases > 0 || level.kind == Kind::command) {
    separate(true);  // the end of a case's pattern
    return;
  }
  const bool in_word = level.kind == Kind::substitution;
  pop();
  if (in_word) return;
  word_.clear();
  word_begins_ = true;
  command_begins_ = true;  // behind `f()` a command follows
}

// Behind "<<": the delimiter, which ends the document as a line of its own.
std::size_t ShellText::read_here_document(std::string_view line, std::size_t at) {
  separate(false);
  HereDocument document;
  if (char_at(line, at) == '-') {
    document.tabs_stripped = true;
    ++at;
  }
  while (at < line.size() && is_blank_in_line(line[at])) ++at;
  const std::size_t begin = at;
  while (at < line.size() && !ends_word(line[at])) {
    const char c = line[at];
    const bool dollar_quote = c == '$' && (char_at(line, at + 1) == '\'' || char_at(line, at + 1) == '"');
    if (c == '\'' || c == '"' || dollar_quote) {
      document.quoted = true;
      at = read_quoted(line, at + (dollar_quote ? 1 : 0), document.delimiter);
    } else {
      if (c == '\\') {
        document.quoted = true;
        ++at;
      }
      if (at < line.size()) document.delimiter += line[at++];
    }
  }
  // Without a word it is a mistake that bash will report.
  if (at > begin) documents_.push_back(std::move(document));
  word_begins_ = false;
  return at;
}

void ShellText::end_line() {
  if (line_continues_ || !at_command_level()) return;
  separate(true);
  in_body_ = !documents_.empty();
}

void ShellText::end_word() {
  if (word_.empty()) return;
  Level& level = levels_.back();
  if (command_begins_) {
    if (word_ == "case") ++level.cases;
    if (word_ == "esac" && level.cases > 0) --level.cases;
    command_begins_ =
        std::find(kBeforeCommands.begin(), kBeforeCommands.end(), word_) != kBeforeCommands.end();
  }
  word_.clear();
}

void ShellText::separate(bool command_follows) {
  end_word();
  word_begins_ = true;
  command_begins_ = command_begins_ || command_follows;
}

void ShellText::push(Kind kind, int depth) {
  if (kind == Kind::substitution || kind == Kind::group) {
    word_.clear();
    word_begins_ = true;
    command_begins_ = true;
  }
  levels_.push_back({.kind = kind, .depth = depth});
}

void ShellText::pop() {
  levels_.pop_back();
  // What was closed was part of a word.
  word_begins_ = false;
  word_ = "\"";
}

bool ShellText::at_command_level() const {
  const Kind kind = levels_.back().kind;
  return kind == Kind::command || kind == Kind::group || kind == Kind::substitution;
}

std::vector<std::string> ShellText::delimiters() const {
  std::vector<std::string> all;
  for (const HereDocument& document : documents_) all.push_back(document.delimiter);
  return all;
}

std::optional<std::string> ShellText::open() const {
  if (!documents_.empty()) return fmt::format("the here-document '{}'", documents_.front().delimiter);
  switch (levels_.back().kind) {
    case Kind::command: return std::nullopt;
    case Kind::group: return "a parenthesis";
    case Kind::substitution: return "a substitution $(";
    case Kind::single_quote:
    case Kind::ansi_quote: return "a single quote";
    case Kind::double_quote: return "a double quote";
    case Kind::backquote: return "a backquote";
    case Kind::parameter: return "an expansion ${";
    case Kind::arithmetic:
    case Kind::old_arithmetic: return "an arithmetic expression";
  }
  FORKPOINT_UNREACHABLE();
}

}  // namespace forkpoint::env
