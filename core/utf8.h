// UTF-8: what programs print is bytes; JSON, XML and people want text.
//
// Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace forkpoint::core {

// Whether all of it is UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view bytes);

// The bytes as UTF-8, with U+FFFD in place of each longest run that begins a character and does not end it,
// and of each byte that begins none (the practice that the Unicode standard recommends).
std::string to_utf8(std::string_view bytes);

}  // namespace forkpoint::core
