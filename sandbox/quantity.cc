#include "sandbox/quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>

namespace forkpoint::sandbox {
namespace {

constexpr std::uint64_t kBytesMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr double kSecondsMax = 1e9;

constexpr char kBytesExpected[] = "a number of bytes, or one with K, M, G or T, such as 256M";
constexpr char kSecondsExpected[] = "a number of seconds, or one with ms, s, m or h, such as 10s";

Error bad_quantity(std::string_view text, std::string_view expected, std::string_view reason = {}) {
  const std::string why = reason.empty() ? std::string() : fmt::format(": {}", reason);
  return Error{.boundary = Boundary::config,
               .fault = Fault::input,
               .code = "bad_quantity",
               .message = fmt::format("must be {}, not '{}'{}", expected, text, why)};
}

bool is_digit(char character) { return character >= '0' && character <= '9'; }

struct Parts {
  std::string_view number;  // DIGITS or DIGITS.DIGITS
  std::string_view unit;    // all that comes after it
};

// Signs, exponents, "nan" and "0x" are not written by people who mean a limit: they are no numbers here.
std::optional<Parts> split(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == 0) return std::nullopt;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = ++end;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == fraction) return std::nullopt;
  }
  return Parts{.number = text.substr(0, end), .unit = text.substr(end)};
}

template <class T>
std::optional<T> number_of(std::string_view digits) {
  T value{};
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

struct Unit {
  std::string_view name;
  double factor;
};

std::optional<double> factor_of(std::string_view unit, std::initializer_list<Unit> units) {
  for (const Unit& known : units) {
    if (unit == known.name) return known.factor;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> bytes_factor(std::string_view unit) {
  if (unit.empty()) return 1;
  const std::string_view behind = unit.substr(1);
  if (!behind.empty() && behind != "iB") return std::nullopt;
  switch (unit[0]) {
    case 'K':
    case 'k': return std::uint64_t{1} << 10;
    case 'M':
    case 'm': return std::uint64_t{1} << 20;
    case 'G':
    case 'g': return std::uint64_t{1} << 30;
    case 'T':
    case 't': return std::uint64_t{1} << 40;
    default: return std::nullopt;
  }
}

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
  const std::optional<Parts> parts = split(text);
  const std::optional<std::uint64_t> factor = parts ? bytes_factor(parts->unit) : std::nullopt;
  if (!factor) return bad_quantity(text, kBytesExpected);

  if (parts->number.find('.') == std::string_view::npos) {
    const auto number = number_of<std::uint64_t>(parts->number);
    if (!number || *number > kBytesMax / *factor) return bad_quantity(text, kBytesExpected, "too large");
    return *number * *factor;
  }
  const auto number = number_of<double>(parts->number);
  const double bytes =
      number.value_or(std::numeric_limits<double>::infinity()) * static_cast<double>(*factor);
  // 2^63 itself is the first double that does not fit.
  if (!(bytes < std::ldexp(1.0, 63))) return bad_quantity(text, kBytesExpected, "too large");
  if (bytes != std::floor(bytes)) return bad_quantity(text, kBytesExpected, "not a whole number of bytes");
  return static_cast<std::uint64_t>(bytes);
}

Result<double> parse_seconds(std::string_view text) {
  const std::optional<Parts> parts = split(text);
  const std::optional<double> factor =
      parts ? factor_of(parts->unit, {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}})
            : std::nullopt;
  if (!factor) return bad_quantity(text, kSecondsExpected);
  // Milliseconds are divided, so that "100ms" is the same number as "0.1s".
  const auto number = number_of<double>(parts->number);
  if (!number) return bad_quantity(text, kSecondsExpected, "too large");
  const double seconds = parts->unit == "ms" ? *number / 1000 : *number * *factor;
  if (!(seconds <= kSecondsMax)) return bad_quantity(text, kSecondsExpected, "too large");
  return seconds;
}

}  // namespace forkpoint::sandbox
