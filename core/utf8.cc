#include "core/utf8.h"

#include <cstddef>

namespace forkpoint::core {
namespace {

struct Lead {
  std::size_t length = 0;  // of the whole character; 0: no byte that begins one
  // What the second byte may be; it rules out overlong forms, surrogates and what is too large. Unicode,
  // table 3-7.
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xbf;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte < 0xc2 || byte > 0xf4) return {};
  if (byte < 0xe0) return {.length = 2};
  if (byte == 0xe0) return {.length = 3, .second_min = 0xa0};
  if (byte == 0xed) return {.length = 3, .second_max = 0x9f};
  if (byte < 0xf0) return {.length = 3};
  if (byte == 0xf0) return {.length = 4, .second_min = 0x90};
  if (byte == 0xf4) return {.length = 4, .second_max = 0x8f};
  return {.length = 4};
}

struct Piece {
  std::size_t length = 0;
  bool valid = false;
};

// The character, or the bytes that are none, at the start of `bytes`, which is not empty.
Piece first_piece(std::string_view bytes) {
  const Lead lead = lead_of(static_cast<unsigned char>(bytes[0]));
  if (lead.length == 0) return {.length = 1};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {.length = i};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool continues =
        i == 1 ? byte >= lead.second_min && byte <= lead.second_max : (byte & 0xc0) == 0x80;
    if (!continues) return {.length = i};
  }
  return {.length = lead.length, .valid = true};
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Piece piece = first_piece(bytes);
    if (!piece.valid) return false;
    bytes.remove_prefix(piece.length);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Piece piece = first_piece(bytes);
    text += piece.valid ? bytes.substr(0, piece.length) : std::string_view("\xef\xbf\xbd");
    bytes.remove_prefix(piece.length);
  }
  return text;
}

}  // namespace forkpoint::core
