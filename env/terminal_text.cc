#include "env/terminal_text.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace forkpoint::env {
namespace {

constexpr char kEscape = '\x1b';

bool between(char c, char first, char last) { return c >= first && c <= last; }

std::size_t code_point_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// One line and a cursor in it.
class TerminalLine {
 public:
  void put(std::string_view code_point) {
    if (cursor_ == columns_.size()) {
      columns_.push_back(code_point);
    } else {
      columns_[cursor_] = code_point;
    }
    ++cursor_;
  }
  void go_to_begin() { cursor_ = 0; }
  void go_back() { cursor_ -= cursor_ > 0 ? 1 : 0; }

  // ECMA-48's EL: 0 from the cursor on, 1 up to the cursor and with it, 2 all.
  void erase(int what) {
    if (what == 0) columns_.resize(cursor_);
    const std::size_t end = what == 1 ? std::min(cursor_ + 1, columns_.size()) : columns_.size();
    if (what == 1 || what == 2) std::fill_n(columns_.begin(), end, std::string_view(" "));
    // Blanks that nothing follows can't be seen.
    if (what == 2) columns_.resize(cursor_);
  }

  void move_to(std::string& text) {
    for (const std::string_view code_point : columns_) text += code_point;
    columns_.clear();
    cursor_ = 0;
  }

 private:
  std::vector<std::string_view> columns_;
  std::size_t cursor_ = 0;
};

// Behind "ESC [": parameters, intermediates, one final byte.
std::optional<std::size_t> control_sequence_end(std::string_view text, std::size_t at) {
  while (at < text.size() && between(text[at], 0x30, 0x3f)) ++at;
  while (at < text.size() && between(text[at], 0x20, 0x2f)) ++at;
  if (at == text.size() || !between(text[at], 0x40, 0x7e)) return std::nullopt;
  return at + 1;
}

// Behind "ESC ]" and the like: text up to BEL or "ESC \". A line end inside means that it never was one.
std::optional<std::size_t> control_string_end(std::string_view text, std::size_t at) {
  for (; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\a') return at + 1;
    if (text[at] == kEscape) {
      if (at + 1 < text.size() && text[at + 1] == '\\') return at + 2;
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Behind the sequence that begins with the ESC at `at`; nothing if it does not end.
std::optional<std::size_t> escape_end(std::string_view text, std::size_t at) {
  if (++at == text.size()) return std::nullopt;
  const char kind = text[at];
  if (kind == '[') return control_sequence_end(text, at + 1);
  if (std::string_view("]PX^_").find(kind) != std::string_view::npos) return control_string_end(text, at + 1);
  while (at < text.size() && between(text[at], 0x20, 0x2f)) ++at;
  if (at == text.size() || !between(text[at], 0x30, 0x7e)) return std::nullopt;
  return at + 1;
}

void apply(std::string_view sequence, TerminalLine& line) {
  if (sequence == "\x1b[K" || sequence == "\x1b[0K") line.erase(0);
  if (sequence == "\x1b[1K") line.erase(1);
  if (sequence == "\x1b[2K") line.erase(2);
}

}  // namespace

std::string fold_terminal_text(std::string_view text) {
  std::string folded;
  TerminalLine line;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == kEscape) {
      const std::size_t end = escape_end(text, at).value_or(at + 1);
      apply(text.substr(at, end - at), line);
      at = end;
      continue;
    }
    const std::size_t bytes = code_point_bytes(c);
    if (c == '\n') {
      line.move_to(folded);
      folded += c;
    } else if (c == '\r') {
      line.go_to_begin();
    } else if (c == '\b') {
      line.go_back();
    } else if (c == '\t' || !(between(c, 0x00, 0x1f) || c == 0x7f)) {
      line.put(text.substr(at, bytes));
    }
    at += bytes;
  }
  line.move_to(folded);
  return folded;
}

}  // namespace forkpoint::env
