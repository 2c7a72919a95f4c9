#include "core/base64.h"

#include <cstddef>
#include <cstdint>

namespace forkpoint::core {

std::string to_base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (; !bytes.empty(); bytes.remove_prefix(bytes.size() < 3 ? bytes.size() : 3)) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      text += digit <= bytes.size() ? kDigits[group >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return text;
}

}  // namespace forkpoint::core
