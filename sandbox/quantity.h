// Quantities as people write them in suites and on the command line: "256M", "10s".
//
// Pure functions. Errors (Boundary::config, Fault::input): `bad_quantity`, "must be ..., not '1e30'": the
// caller puts before it what it was given for.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.h"

namespace forkpoint::sandbox {

// "64K", "256M", "1.5G", "2T" or plain bytes: K is 1024 bytes, M 1024 K and so on, "MiB" is the same as "M".
// Whole bytes, at most 2^63 - 1. Zero is a quantity; whether it is a sensible limit is for check_policy() to
// say.
Result<std::uint64_t> parse_bytes(std::string_view text);

// "500ms", "10s", "2m", "1.5h" or plain seconds; at most 10^9.
Result<double> parse_seconds(std::string_view text);

}  // namespace forkpoint::sandbox
