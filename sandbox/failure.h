// The errors that this folder makes most: what the machine refused, and what the caller can't have meant.
//
// Pure functions; the first two look at errno first, so their arguments must not change it.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "core/error.h"

namespace forkpoint::sandbox {

// A failed system call, in errno's words; nobody's fault in particular.
inline Error system_failure(std::string code, std::string message) {
  Error error = core::system_error(errno, std::move(code), std::move(message));
  error.boundary = Boundary::sandbox;
  return error;
}

// The same where the machine lacks what was demanded.
inline Error host_failure(std::string code, std::string message, std::string advice = "") {
  Error error = system_failure(std::move(code), std::move(message));
  error.fault = Fault::host;
  error.advice = std::move(advice);
  return error;
}

inline Error input_error(std::string code, std::string message, std::string advice = "") {
  return {.boundary = Boundary::sandbox,
          .fault = Fault::input,
          .code = std::move(code),
          .message = std::move(message),
          .advice = std::move(advice)};
}

}  // namespace forkpoint::sandbox
