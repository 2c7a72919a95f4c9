// FORKPOINT_CHECK: a broken invariant stops the program, in every build type.
//
// Use it for what can only be a mistake in our own code. What a user, a file or another process can
// cause is an Error instead.
//
//   FORKPOINT_CHECK(index < size, "turn index beyond the trajectory");
#pragma once

#include <string_view>

namespace forkpoint::core {

// Prints file, line, condition and message to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view message);

}  // namespace forkpoint::core

#define FORKPOINT_CHECK(condition, message)                                     \
  do {                                                                          \
    if (!(condition)) [[unlikely]]                                              \
      ::forkpoint::core::check_failed(__FILE__, __LINE__, #condition, message); \
  } while (false)

#define FORKPOINT_UNREACHABLE() \
  ::forkpoint::core::check_failed(__FILE__, __LINE__, "unreachable", "this line can't be reached")
