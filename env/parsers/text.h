// Small looks at text that the parsers share. Pure functions; views point into their arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace forkpoint::env {

// Blank space is that of ASCII: space, tab, line ends, vertical tab, form feed.
std::string_view trim(std::string_view text);
std::size_t skip_blank(std::string_view text, std::size_t at);

// A line and where it stands. `end` is behind its last byte, `next` behind its line end.
struct Line {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t next = 0;

  std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
};

// The line that begins at `at`; nothing at the end of the text.
std::optional<Line> line_at(std::string_view text, std::size_t at);

// What a model that thinks aloud puts around its thoughts.
inline constexpr std::string_view kThoughtOpen = "<think>";
inline constexpr std::string_view kThoughtClose = "</think>";

// Where a model that thinks aloud begins its answer: behind the "</think>" of a text that opens with
// "<think>", else 0. Nothing when the thought is not closed: then there is no answer.
std::optional<std::size_t> answer_begin(std::string_view text);

// A tool or argument name that needs no quoting in any format: ASCII letters, digits and _ - . : /
bool is_name(std::string_view name);

}  // namespace forkpoint::env
