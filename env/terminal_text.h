// Terminal text: what a person would have seen of a program's output.
//
// Pure function.
#pragma once

#include <string>
#include <string_view>

namespace forkpoint::env {

// `text`, which is UTF-8, as a terminal would show it line by line: escape sequences (ECMA-48: colors,
// titles, character sets) are gone; what a carriage return or a backspace went back over is overwritten, so
// that a progress bar is its last state; "erase in line" erases; CRLF is a line end. Other control characters
// but tab and line feed are gone. The cursor never moves to another line: sequences that would are dropped. A
// code point is a column.
//
// An escape sequence that does not end is no sequence: only its ESC is dropped, no text.
std::string fold_terminal_text(std::string_view text);

}  // namespace forkpoint::env
